package io.jumpgate.spark.plan

import scala.util.control.NoStackTrace

/** Why an operator stays with Spark: a code for programs, a sentence for people, and the setting that would change it. */
final case class Reason(code: String, sentence: String, setting: Option[String] = None) {
  override def toString: String = s"[$code] $sentence" + setting.fold("")(s => s" (setting: $s)")
}

/** Ends the translation of a plan. */
final class NotOffloaded(val reason: Reason) extends Exception(reason.toString) with NoStackTrace

object NotOffloaded {
  def apply(code: String, sentence: String): Nothing = throw new NotOffloaded(Reason(code, sentence))
}

package io.jumpgate.spark.plan

import io.jumpgate.explain.{Code, Reason}
import scala.util.control.NoStackTrace

/** Ends the translation of a plan. */
final class NotOffloaded(val reason: Reason) extends Exception(reason.toString) with NoStackTrace

object NotOffloaded {
  def apply(code: Code, sentence: String): Nothing = throw new NotOffloaded(new Reason(code, sentence))
}

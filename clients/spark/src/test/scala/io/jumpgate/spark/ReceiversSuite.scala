package io.jumpgate.spark

import org.apache.spark.sql.jumpgate.{Receivers, Register}
import org.scalatest.funsuite.AnyFunSuite

/** Which executors receive results. */
class ReceiversSuite extends AnyFunSuite {
  private def known: Seq[String] = Receivers.all.map(_.executor)

  private def executor(number: String) = Register(number, "127.0.0.1", null)

  test("an executor of an application that has ended is no executor of the next") {
    val ended = Receivers.begin()
    ended.register(executor("1"))
    val next = Receivers.begin()
    assert(known.isEmpty)
    ended.register(executor("2")) // it was still starting
    assert(known.isEmpty)
    next.register(executor("0"))
    assert(known == Seq("0"))
  }

  test("an executor that was removed before it registered receives nothing") {
    val executors = Receivers.begin()
    executors.register(executor("0"))
    Receivers.remove("1")
    executors.register(executor("1"))
    assert(known == Seq("0"))
    Receivers.remove("0")
    assert(known.isEmpty)
  }
}

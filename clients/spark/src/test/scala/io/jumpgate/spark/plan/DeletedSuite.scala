package io.jumpgate.spark.plan

import org.scalatest.funsuite.AnyFunSuite

class DeletedSuite extends AnyFunSuite {
  test("rows are the text that jumpgate/dataflow/deleted.py makes of them") {
    val texts = Seq(Seq() -> "", Seq(0L) -> "A", Seq(3L, 4L, 5L, 100L) -> "HB8F", Seq(100L, 5L, 3L, 4L, 5L) -> "HB8F")
    texts.foreach { case (rows, text) => assert(Deleted.encode(rows.toArray) == text) }
    assert(Deleted.encode(Array(1L << 40)) == "ggggggggC")
  }

  test("files have their texts in order, and too many are refused") {
    assert(Deleted.option(Seq("", "")).isEmpty)
    assert(Deleted.option(Seq("", "A", "")) == Map("deleted" -> ",A,"))
    assert(intercept[NotOffloaded](Deleted.option(Seq("A" * (1 << 20), "A"))).reason.sentence.contains("deleted more rows"))
  }
}

package io.jumpgate.spark.exec

import io.jumpgate.{ErrorCode, JumpgateException}
import org.scalatest.funsuite.AnyFunSuite
import scala.util.Failure

/** What tasks are told of a result that is handed out while its job runs. */
class StreamsSuite extends AnyFunSuite {
  private val lost = Failure(new JumpgateException(ErrorCode.UNREACHABLE, "the host is gone"))

  test("the partition of a job that fails is Spark's, and no task that has read of it may end") {
    val stream = new Stream(strict = false, () => ())
    assert(stream.standing(0, stage = 1) == Running)
    assert(stream.taken.value.isEmpty)
    stream.end(lost)
    assert(stream.standing(0, stage = 1) == Lost)
    assert(!stream.stop(stage = 1))
    assert(stream.taken.value.exists(_.isFailure))
  }

  test("where a task's rows count already, the others of its stage fail with a sentence") {
    val stream = new Stream(strict = false, () => ())
    assert(stream.stop(stage = 1))
    stream.end(lost)
    stream.standing(1, stage = 1) match {
      case Broken(why) => assert(why.contains("used some of its rows") && why.contains("the host is gone"))
      case other => fail(other.toString)
    }
    assert(stream.standing(1, stage = 2) == Lost)
  }

  test("a strict query fails") {
    val stream = new Stream(strict = true, () => ())
    stream.end(lost)
    assert(stream.standing(0, stage = 1).isInstanceOf[Broken])
  }

  test("the end of a query ends a job of which somebody has read, and no other") {
    var ended = 0
    val stream = new Stream(strict = false, () => ended += 1)
    stream.ended(hasFailed = false)
    assert(ended == 0)
    stream.stop(stage = 1)
    stream.ended(hasFailed = false)
    assert(ended == 1)
    stream.end(lost)
    assert(stream.taken.value.exists(_.failed.toOption.exists(_.isInstanceOf[Abandoned])))
    stream.ended(hasFailed = true)
    assert(ended == 1)
  }

  test("a result that was dropped is Spark's to compute") {
    assert(Streams.standing("none", 0, stage = 1) == Lost)
    assert(!Streams.stop("none", stage = 1))
  }
}

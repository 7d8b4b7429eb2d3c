package io.jumpgate.spark.exec

import io.jumpgate.client.JumpgateClient
import java.util.concurrent.ConcurrentLinkedDeque
import scala.jdk.CollectionConverters._

/** A job that has computed a part of a query. `query`: Spark's number of it, if it has one; `startedMs` since the epoch. */
final case class Ran(
    id: String,
    query: Option[Long],
    text: String,
    startedMs: Long,
    setupMs: Long,
    executionMs: Long,
    bytes: Long,
    ncas: Seq[String],
    client: JumpgateClient) {
  /** Raises JumpgateException: the service is gone, or has forgotten the job. */
  def report: String = client.report(id)
}

/** The application's last jobs, for people who look at them. */
object History {
  private val jobs = new ConcurrentLinkedDeque[Ran]()

  def add(job: Ran, max: Int): Unit = {
    jobs.addFirst(job)
    while (jobs.size > max) jobs.pollLast()
  }

  /** The newest first. */
  def all: Seq[Ran] = jobs.asScala.toSeq

  def clear(): Unit = jobs.clear()
}

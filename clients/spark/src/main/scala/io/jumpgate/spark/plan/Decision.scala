package io.jumpgate.spark.plan

import io.jumpgate.JumpgateException
import io.jumpgate.client.Work
import io.jumpgate.dataflow.Operator
import io.jumpgate.explain.{Code, Reason}
import io.jumpgate.spark.Settings
import io.jumpgate.spark.exec.{Failed, JumpgateExec, Submission, Submissions}
import io.jumpgate.v1.{ExplainRequest, Speeds}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import scala.jdk.CollectionConverters._

/**
 * Whether a part of a query is worth to be offloaded: the service estimates both, with Spark's speeds. A part whose programs take longer to
 * build than it saves is Spark's this time.
 */
private object Decision {
  /** Seconds of a core for a unit of each kind of work (jumpgate/nca/speeds.py), as Spark takes them. */
  private val Spark: Map[String, java.lang.Double] = Map(
    Work.JOB -> 0.15, // a query: planning, code generation, the first tasks
    Work.SCAN_JSON_BYTE -> 8e-9,
    Work.SCAN_CSV_BYTE -> 6e-9,
    Work.SCAN_PARQUET_NUMBER -> 10e-9,
    Work.SCAN_PARQUET_DECIMAL -> 15e-9,
    Work.SCAN_PARQUET_TEXT -> 40e-9,
    Work.SCAN_ORC_NUMBER -> 12e-9,
    Work.SCAN_ORC_DECIMAL -> 20e-9,
    Work.SCAN_ORC_TEXT -> 45e-9,
    Work.FILTER -> 3e-9,
    Work.EXPRESSION -> 4e-9,
    Work.PROBE -> 40e-9,
    Work.PROBE_LARGE -> 120e-9,
    Work.BUILD -> 150e-9,
    Work.BUILD_LARGE -> 250e-9,
    Work.GROUP -> 60e-9,
    Work.GROUP_LARGE -> 300e-9,
    Work.MEASURE -> 6e-9,
    Work.SORT -> 40e-9,
    Work.WINDOW -> 150e-9).map { case (kind, seconds) => kind.text -> Double.box(seconds) }

  /** Where a dataflow is not sent to: it is only estimated. */
  private val Nowhere = "127.0.0.1:1"

  /** Why not, if it is not. */
  def against(session: SparkSession, plan: LogicalPlan, root: Operator): Option[Reason] = {
    val conf = session.sessionState.conf
    if (Settings.Offload(conf) == "always") None
    else
      Some(plan).filterNot(_ => Settings.areUsers(conf)).flatMap(Failed.why) match {
        case Some(why) => no(Code.COST, s"its job has failed: $why")
        case None => estimated(session, plan, root)
      }
  }

  private def no(code: Code, sentence: String) = Some(new Reason(code, sentence, s"${Settings.Offload.name}=always"))

  private def estimated(session: SparkSession, plan: LogicalPlan, root: Operator): Option[Reason] = {
    val speeds = Speeds.newBuilder().putAllSeconds(Spark.asJava).setCores(session.sparkContext.defaultParallelism)
    // to as many places as a result, whose plan is remembered
    val dataflow = Submission.dataflow(root, Dialects.of(plan), Seq.fill(JumpgateExec.partitions(session, plan))(Nowhere))
    try {
      val rights = new Rights(session).of(dataflow).asJava
      val request =
        ExplainRequest.newBuilder().setDataflow(dataflow).setElsewhere(speeds).setEstimateOnly(true).addAllCredentials(rights).build()
      val client = Submissions.client(session.sessionState.conf)
      val estimate = client.explain(request).getEstimate
      val spare = if (estimate.getKnown) estimate.getElsewhereSeconds - estimate.getSeconds else 0.0
      if (spare >= 0) {
        val wait = client.prepare(dataflow, rights, spare)
        if (wait <= spare) None else no(Code.COST, f"its programs are built, for which it would wait $wait%.1f s")
      } else no(Code.COST, f"Spark is expected to take ${estimate.getElsewhereSeconds}%.3f s, Jumpgate ${estimate.getSeconds}%.3f s")
    } catch {
      case e: JumpgateException => no(Code.SERVICE, e.getMessage)
    }
  }
}

package io.jumpgate.spark.plan

import io.jumpgate.JumpgateException
import io.jumpgate.dataflow.Operator
import io.jumpgate.explain.{Code, Reason}
import io.jumpgate.spark.Settings
import io.jumpgate.spark.exec.{JumpgateExec, Submission, Submissions}
import io.jumpgate.v1.{ExplainRequest, Speeds}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.jumpgate.Shims.SparkSession
import scala.jdk.CollectionConverters._

/** Whether a part of a query is worth to be offloaded: the service estimates both, with Spark's speeds. */
private object Decision {
  /** Seconds of a core for a unit of each kind of work (jumpgate/nca/speeds.py), as Spark takes them. */
  private val Spark: Map[String, java.lang.Double] = Map(
    "job" -> 0.15, // a query: planning, code generation, the first tasks
    "scan json byte" -> 8e-9,
    "scan csv byte" -> 6e-9,
    "scan parquet number" -> 10e-9,
    "scan parquet decimal" -> 15e-9,
    "scan parquet text" -> 40e-9,
    "scan orc number" -> 12e-9,
    "scan orc decimal" -> 20e-9,
    "scan orc text" -> 45e-9,
    "filter" -> 3e-9,
    "expression" -> 4e-9,
    "probe" -> 40e-9,
    "probe large" -> 120e-9,
    "build" -> 150e-9,
    "build large" -> 250e-9,
    "group" -> 60e-9,
    "group large" -> 300e-9,
    "measure" -> 6e-9,
    "sort" -> 40e-9,
    "window" -> 150e-9).map { case (kind, seconds) => kind -> Double.box(seconds) }

  /** Where a dataflow is not sent to: it is only estimated. */
  private val Nowhere = "127.0.0.1:1"

  /** Why not, if it is not. */
  def against(session: SparkSession, plan: LogicalPlan, root: Operator): Option[Reason] = {
    val conf = session.sessionState.conf
    def no(code: Code, sentence: String) = Some(new Reason(code, sentence, s"${Settings.Offload.name}=always"))
    if (Settings.Offload(conf) == "always") None
    else {
      val speeds = Speeds.newBuilder().putAllSeconds(Spark.asJava).setCores(session.sparkContext.defaultParallelism)
      // to as many places as a result, whose plan is remembered
      val dataflow = Submission.dataflow(plan, root, Seq.fill(JumpgateExec.partitions(session, plan))(Nowhere))
      val request = ExplainRequest.newBuilder().setDataflow(dataflow).setElsewhere(speeds).setEstimateOnly(true).build()
      try {
        val estimate = Submissions.client(conf).explain(request).getEstimate
        if (!estimate.getKnown || estimate.getSeconds <= estimate.getElsewhereSeconds) None
        else no(Code.COST, f"Spark is expected to take ${estimate.getElsewhereSeconds}%.3f s, Jumpgate ${estimate.getSeconds}%.3f s")
      } catch {
        case e: JumpgateException => no(Code.SERVICE, e.getMessage)
      }
    }
  }
}

package org.apache.spark.sql.jumpgate

import io.jumpgate.JumpgateException
import io.jumpgate.spark.exec.{History, Ran, Submissions}
import java.util.Date
import org.apache.spark.SparkContext
import org.apache.spark.sql.jumpgate.Shims.HttpServletRequest
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}
import org.apache.spark.util.Utils
import scala.xml.Node

/** A tab of Spark's UI: the jobs of the application, and the report of each. */
final class JumpgateTab private (ui: SparkUI) extends SparkUITab(ui, JumpgateTab.Prefix) {
  override val name: String = "Jumpgate"

  attachPage(new JobsPage(this))
  attachPage(new ReportPage(this))
}

object JumpgateTab {
  private[jumpgate] val Prefix = "jumpgate"

  /** Nothing happens if the application has no UI. */
  def attach(context: SparkContext): Unit = context.ui.foreach(ui => ui.attachTab(new JumpgateTab(ui)))

  /** How many jobs are kept for it. */
  def jobsMax(context: SparkContext): Int = context.conf.getInt("spark.ui.retainedJobs", 1000)

  private[jumpgate] def link(request: HttpServletRequest, path: String, text: String): Seq[Node] =
    <a href={UIUtils.prependBaseUri(request, path)}>{text}</a>
}

private final class JobsPage(tab: JumpgateTab) extends WebUIPage("") {
  override def render(request: HttpServletRequest): Seq[Node] = {
    val jobs = History.all
    val summary =
      <ul class="list-unstyled">
        <li><strong>Jobs: </strong>{jobs.size}</li>
        <li><strong>Received: </strong>{Utils.bytesToString(jobs.map(_.bytes).sum)}</li>
        <li><strong>Fall-backs to Spark: </strong>{Submissions.fallbacks}</li>
      </ul>
    val table = UIUtils.listingTable(JobsPage.Headers, row(request, _: Ran), jobs)
    UIUtils.headerSparkPage(request, "Jumpgate", summary ++ table, tab)
  }

  private def row(request: HttpServletRequest, job: Ran): Seq[Node] =
    <tr>
      <td>{JumpgateTab.link(request, s"/${JumpgateTab.Prefix}/report/?job=${job.id}", job.id)}</td>
      <td>{job.query.map(q => JumpgateTab.link(request, s"/SQL/execution/?id=$q", q.toString)).getOrElse(Nil)}</td>
      <td>{job.text}</td>
      <td sorttable_customkey={job.startedMs.toString}>{UIUtils.formatDate(new Date(job.startedMs))}</td>
      <td sorttable_customkey={job.setupMs.toString}>{UIUtils.formatDuration(job.setupMs)}</td>
      <td sorttable_customkey={job.executionMs.toString}>{UIUtils.formatDuration(job.executionMs)}</td>
      <td sorttable_customkey={job.bytes.toString}>{Utils.bytesToString(job.bytes)}</td>
      <td>{job.ncas.mkString(", ")}</td>
    </tr>
}

private object JobsPage {
  val Headers: Seq[String] =
    Seq("Job", "Query", "Description", "Submitted", "Set-up", "Execution", "Received", "Accelerators")
}

/** What the service tells of a job, which has to be one of the application's. */
private final class ReportPage(tab: JumpgateTab) extends WebUIPage("report") {
  override def render(request: HttpServletRequest): Seq[Node] = {
    val id = Option(request.getParameter("job")).getOrElse("")
    val content: Seq[Node] = History.all.find(_.id == id) match {
      case None => <p>This application has no job {id}, or has forgotten it (spark.ui.retainedJobs).</p>
      case Some(job) =>
        try <iframe srcdoc={job.report} sandbox="allow-same-origin" title={s"job $id"} style="width: 100%; height: 85vh; border: 0"></iframe>
        catch {
          case e: JumpgateException => <p>The service does not tell about job {id}: {e.getMessage}</p>
        }
    }
    UIUtils.headerSparkPage(request, s"Job $id", content, tab)
  }
}

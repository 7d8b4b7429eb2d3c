package io.jumpgate.spark

import io.jumpgate.spark.exec.{Results, StandIn, Submissions}
import java.util.{Map => JavaMap}
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.jumpgate.{JumpgateTab, Receivers, Register, Sessions, StorageMemory}
import scala.jdk.CollectionConverters._

/** `spark.plugins=io.jumpgate.spark.JumpgatePlugin` is all that it takes. */
final class JumpgatePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new JumpgateDriver

  override def executorPlugin(): ExecutorPlugin = new JumpgateExecutor
}

private final class JumpgateDriver extends DriverPlugin {
  private val executors = Receivers.begin()

  override def init(context: SparkContext, plugin: PluginContext): JavaMap[String, String] = {
    JumpgateDriver.append(context, "spark.sql.extensions", classOf[JumpgateExtensions].getName)
    JumpgateDriver.append(context, "spark.sql.extendedExplainProviders", classOf[JumpgateExplain].getName)
    context.addSparkListener(Submissions)
    JumpgateTab.attach(context)
    Map.empty[String, String].asJava
  }

  override def receive(message: AnyRef): AnyRef = message match {
    case executor: Register =>
      executors.register(executor)
      null
    case IsRunning(job) => Boolean.box(StandIn.isRunning(job))
  }
}

private object JumpgateDriver {
  /** One more of a list, which people may have set, too. */
  def append(context: SparkContext, name: String, value: String): Unit = {
    val conf = Sessions.conf(context)
    val known = conf.getOption(name).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    if (!known.contains(value)) conf.set(name, (known :+ value).mkString(","))
  }
}

private final class JumpgateExecutor extends ExecutorPlugin {
  override def init(context: PluginContext, extra: JavaMap[String, String]): Unit = {
    JumpgateExecutor.driver = context
    val host = Receivers.host
    JumpgateExecutor.results = new Results(host, Settings.Ports.of(context.conf), StorageMemory)
    context.ask(Receivers.serve(context.executorID, host, JumpgateExecutor.results))
  }

  override def shutdown(): Unit = if (JumpgateExecutor.results != null) JumpgateExecutor.results.close()
}

/** What a task asks the driver: whether a job still runs. */
private final case class IsRunning(job: String)

object JumpgateExecutor {
  /** Of this executor, which is a process. */
  @volatile private[spark] var results: Results = _
  @volatile private var driver: PluginContext = _

  private[spark] def isRunning(job: String): Boolean = driver.ask(IsRunning(job)).asInstanceOf[Boolean]
}

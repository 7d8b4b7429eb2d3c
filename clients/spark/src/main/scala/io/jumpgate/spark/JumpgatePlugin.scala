package io.jumpgate.spark

import io.jumpgate.spark.exec.{Results, StandIn, Standing, StreamedFrames, Streams, Submissions}
import java.util.{Map => JavaMap}
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.jumpgate.{JumpgateTab, Message, Receivers, Register, Sessions, StorageMemory}
import scala.jdk.CollectionConverters._

/** `spark.plugins=io.jumpgate.spark.JumpgatePlugin` is all that it takes. */
final class JumpgatePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new JumpgateDriver

  override def executorPlugin(): ExecutorPlugin = new JumpgateExecutor
}

private final class JumpgateDriver extends DriverPlugin {
  private val executors = Receivers.begin()
  @volatile private var running = Option.empty[SparkContext]

  override def init(context: SparkContext, plugin: PluginContext): JavaMap[String, String] = {
    JumpgateDriver.append(context, "spark.sql.extensions", classOf[JumpgateExtensions].getName)
    JumpgateDriver.append(context, "spark.sql.extendedExplainProviders", classOf[JumpgateExplain].getName)
    context.addSparkListener(Submissions)
    JumpgateTab.attach(context)
    running = Some(context)
    Map.empty[String, String].asJava
  }

  override def receive(message: AnyRef): AnyRef = message match {
    case executor: Register =>
      executors.register(executor)
      null
    case IsRunning(job) => Boolean.box(StandIn.isRunning(job))
    case StandingOf(result, partition, stage) => Message.write(Streams.standing(result, partition, stage))
    case Stop(result, stage) => Boolean.box(Streams.stop(result, stage))
    case Restart(task) => Boolean.box(running.exists(_.killTaskAttempt(task, interruptThread = true, StreamedFrames.Reason)))
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

/** What has become of a result that is read while its job runs, for a task of a stage. The answer are bytes, as a receiver's are. */
private final case class StandingOf(result: String, partition: Int, stage: Int)

/** A task of a stage ends before it has read everything: whether it may. */
private final case class Stop(result: String, stage: Int)

/** A task attempt's rows do not count: it begins anew. */
private final case class Restart(task: Long)

object JumpgateExecutor {
  /** Of this executor, which is a process. */
  @volatile private[spark] var results: Results = _
  @volatile private var driver: PluginContext = _

  private[spark] def isRunning(job: String): Boolean = driver.ask(IsRunning(job)).asInstanceOf[Boolean]

  private[spark] def standing(result: String, partition: Int, stage: Int): Standing =
    Message.read(driver.ask(StandingOf(result, partition, stage)).asInstanceOf[Array[Byte]])

  private[spark] def stop(result: String, stage: Int): Boolean = driver.ask(Stop(result, stage)).asInstanceOf[Boolean]

  private[spark] def restart(task: Long): Unit = driver.ask(Restart(task))
}

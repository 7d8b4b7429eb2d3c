package io.jumpgate.spark.exec

import java.util.concurrent.{ExecutorService, Executors}
import scala.concurrent.ExecutionContext

/** Threads that wait, and that keep no process alive. */
object Threads {
  /** The thread that completes a future does what follows from it, which is little. */
  val same: ExecutionContext = ExecutionContext.fromExecutor((task: Runnable) => task.run())

  def named(name: String): ExecutorService = Executors.newCachedThreadPool { (task: Runnable) =>
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread
  }
}

package io.jumpgate.spark.exec

import java.util.concurrent.{ExecutorService, Executors}

/** Threads that wait, and that keep no process alive. */
private[exec] object Threads {
  def named(name: String): ExecutorService = Executors.newCachedThreadPool { (task: Runnable) =>
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread
  }
}

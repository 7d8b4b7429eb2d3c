package io.jumpgate.spark

import io.jumpgate.dataflow.DataType

package object plan {
  /** An expression of a request; Catalyst's have the name already. */
  type Value = io.jumpgate.dataflow.Expression

  implicit final class Typed(private val value: Value) extends AnyVal {
    def dataType: DataType = value.`type`()
  }
}

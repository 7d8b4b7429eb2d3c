package io.jumpgate.spark.plan

import io.jumpgate.dataflow.Expression.SortKey
import io.jumpgate.dataflow.{Expression => Request, Field, Operator}
import io.jumpgate.explain.Code
import org.apache.spark.sql.catalyst.expressions._
import scala.jdk.CollectionConverters._

/** What attributes mean to an expression. */
final class Scope(values: Map[ExprId, Value]) {
  def apply(attribute: Attribute): Value = {
    val value = values.getOrElse(attribute.exprId, NotOffloaded(Code.COLUMN, s"${attribute.name} is not a column of its input"))
    if (!Values.fits(attribute.dataType, value.dataType)) {
      FileRules.unread(attribute).foreach(NotOffloaded(Code.COLUMN, _))
      Values.typeOf(attribute.dataType)
      NotOffloaded(Code.TYPE, s"the files of ${attribute.name} do not say which moments it has")
    }
    value
  }
}

object Scope {
  /** The columns of an operator, of which a plan's output says the attributes. */
  def of(operator: Operator, output: Seq[Attribute]): Scope = over(operator.schema.asScala.toSeq, output)

  def over(schema: Seq[Field], output: Seq[Attribute]): Scope =
    new Scope(output.indices.map(i => output(i).exprId -> Request.column(i, schema.asJava)).toMap)

  def project(input: Operator, columns: Seq[(String, Value)]): Operator =
    input.project(columns.map(_._2).asJava, columns.map(_._1).asJava)

  def sortKeys(order: Seq[SortOrder], scope: Scope): Seq[SortKey] = order.map { o =>
    new SortKey(ExpressionTranslator(o.child, scope), o.direction == Descending, o.nullOrdering == NullsFirst)
  }
}

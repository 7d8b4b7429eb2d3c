package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, Field, ScalarFunction}
import io.jumpgate.explain.Code
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import scala.jdk.CollectionConverters._

/** Spark's types and values as a request has them, and the rules of types of the functions that it calls. */
object Values {
  /** Of an array or a struct that one call makes. */
  val PartsMax = 256
  private val Moment = Zones.Moment

  /** Nullable. */
  def typeOf(dataType: DataType): JumpgateType = dataType match {
    case BooleanType => JumpgateType.BOOL
    case ByteType => JumpgateType.INT8
    case ShortType => JumpgateType.INT16
    case IntegerType => JumpgateType.INT32
    case LongType => JumpgateType.INT64
    case FloatType => JumpgateType.FLOAT32
    case DoubleType => JumpgateType.FLOAT64
    case d: DecimalType if d.scale >= 0 && d.scale <= d.precision => JumpgateType.decimal(d.precision, d.scale)
    case DateType => JumpgateType.DATE
    case TimestampNTZType => JumpgateType.TIMESTAMP
    case TimestampType => Moment
    case StringType => JumpgateType.STRING
    case BinaryType => JumpgateType.BINARY
    case StructType(fields) if fields.nonEmpty && fields.map(_.name).distinct.length == fields.length =>
      JumpgateType.struct(fields.map(f => new Field(f.name, typeOf(f.dataType))).toSeq.asJava)
    case a: ArrayType => JumpgateType.list(typeOf(a.elementType))
    case m: MapType => JumpgateType.map(typeOf(m.keyType), typeOf(m.valueType))
    case other => NotOffloaded(Code.TYPE, s"there is no exact counterpart of ${other.simpleString}")
  }

  /** Whether [[typeOf]] has an answer. */
  def hasType(dataType: DataType): Boolean =
    try {
      typeOf(dataType)
      true
    } catch { case _: NotOffloaded => false }

  /** Of structs, arrays and maps, which are passed on and taken apart, and no more. */
  def isNested(dataType: DataType): Boolean = dataType match {
    case _: StructType | _: ArrayType | _: MapType => true
    case _ => false
  }

  /** Whether a column is what the attribute says: one of a table may be a place that nothing can be read from. */
  def fits(dataType: DataType, column: JumpgateType): Boolean = hasType(dataType) && typeOf(dataType).same(column)

  /** In the place of a column that is not read: of a type that Spark does not have. */
  val Unread: Value = Request.nullOf(JumpgateType.TIME)

  /** A value of Catalyst's. */
  def literal(value: Any, dataType: DataType): Value = (value, dataType) match {
    case (null, t) => Request.nullOf(typeOf(t))
    case (a: ArrayData, t: ArrayType) if isSome(a.numElements()) => ScalarFunction.LIST_OF.of(elements(a, t.elementType): _*)
    case (m: MapData, t: MapType) if isSome(m.numElements()) =>
      val (keys, values) = (elements(m.keyArray(), t.keyType), elements(m.valueArray(), t.valueType))
      ScalarFunction.MAP_OF.of(ScalarFunction.LIST_OF.of(keys: _*), ScalarFunction.LIST_OF.of(values: _*))
    case (row: InternalRow, t: StructType) if isSome(t.length) =>
      cast(ScalarFunction.STRUCT_OF.of(t.fields.zipWithIndex.map { case (f, i) => literal(row.get(i, f.dataType), f.dataType) }.toSeq: _*), typeOf(t))
    case (_, t) if isNested(t) => NotOffloaded(Code.TYPE, s"${t.simpleString} of none or many is a type without literals")
    case _ => scalar(value, dataType)
  }

  private def elements(a: ArrayData, dataType: DataType): Seq[Value] = a.toObjectArray(dataType).toSeq.map(literal(_, dataType))

  /** Whether one call makes something of so many parts. */
  private def isSome(parts: Int): Boolean = parts > 0 && parts <= PartsMax

  private def scalar(value: Any, dataType: DataType): Value = ((value, typeOf(dataType)): @unchecked) match {
    case (null, t) => Request.nullOf(t)
    case (b: Boolean, _) => Request.bool(b)
    case (days: Int, JumpgateType.DATE) => Request.date(days)
    case (micros: Long, t @ (JumpgateType.TIMESTAMP | Moment)) => Request.moment(micros, t)
    case (f: Float, t) => Request.floating(f, t)
    case (d: Double, t) => Request.floating(d, t)
    case (d: Decimal, t: JumpgateType.Decimal) => Request.decimal(d.toJavaBigDecimal, t.precision, t.scale)
    case (s: UTF8String, _) if s == UTF8String.fromString(s.toString) => Request.string(s.toString)
    case (_: UTF8String, _) => NotOffloaded(Code.TYPE, "a text that is not UTF-8")
    case (b: Array[Byte], _) => Request.binary(b)
    case (n: Number, t) => Request.integer(n.longValue, t)
  }

  def integer(value: Int): Value = Request.integer(value, JumpgateType.INT32)

  def long(value: Long): Value = Request.integer(value, JumpgateType.INT64)

  /** All of the terms, of which there is one at least. */
  def and(terms: Seq[Value]): Value = if (terms.size == 1) terms.head else ScalarFunction.AND.of(terms: _*)

  def or(terms: Seq[Value]): Value = if (terms.size == 1) terms.head else ScalarFunction.OR.of(terms: _*)

  def caseWhen(branches: Seq[(Value, Value)], otherwise: Value): Value =
    Request.caseWhen(branches.flatMap { case (condition, value) => Seq(condition, value) }.asJava, otherwise)

  /** As `target`, but for its nullability; a value that it does not hold fails the job. */
  def cast(value: Value, target: JumpgateType): Value = value.as(target)

  /** Keys of a join that are equal where both values are, or are both NULL. */
  def sameOrBothNull(a: Value, b: Value, dataType: DataType): Seq[(Value, Value)] = {
    val (x, y) = common(a, b)
    val default = ExpressionTranslator.default(dataType)
    Seq(
      (ScalarFunction.COALESCE.of(x, cast(default, x.dataType)), ScalarFunction.COALESCE.of(y, cast(default, y.dataType))),
      (ScalarFunction.IS_NULL.of(x), ScalarFunction.IS_NULL.of(y)))
  }

  /** Both as one type: decimals of different digits as one that holds either. */
  def common(a: Value, b: Value): (Value, Value) = (a.dataType, b.dataType) match {
    case (x, y) if x.same(y) => (a, b)
    case (x: JumpgateType.Decimal, y: JumpgateType.Decimal) =>
      val scale = x.scale.max(y.scale)
      val precision = (x.precision - x.scale).max(y.precision - y.scale) + scale
      if (precision > DecimalType.MAX_PRECISION) NotOffloaded(Code.DECIMAL, s"${x.name} and ${y.name} need more than 38 digits together")
      val wide = JumpgateType.decimal(precision, scale)
      (cast(a, wide), cast(b, wide))
    case (x, y) => NotOffloaded(Code.TYPE, s"${x.name} beside ${y.name}")
  }
}

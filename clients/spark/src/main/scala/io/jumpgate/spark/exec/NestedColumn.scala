package io.jumpgate.spark.exec

import io.jumpgate.dataflow.{DataType => JumpgateType}
import io.jumpgate.ntf.{ColumnarFrame, NestedValue}
import java.math.BigInteger
import java.nio.ByteBuffer
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._

/** Structs, arrays and maps of a received frame, whose values are bytes of their own each, as columns of their parts. */
private[exec] object NestedColumn {
  def read(dataType: DataType, shape: JumpgateType.Nested, column: ColumnarFrame.Column, rows: Int, isNull: Int => Boolean): WritableColumnVector = {
    val of = NestedValue.Shape.of(shape)
    val (offsets, values) = (column.offsets.bytes, column.values.bytes)
    val out = new OnHeapColumnVector(rows.max(1), dataType)
    (0 until rows).foreach { row =>
      if (isNull(row)) appendNull(out, dataType)
      else {
        val start = offsets.getInt(4 * row)
        append(out, dataType, of.value(values.slice(start, offsets.getInt(4 * row + 4) - start)))
      }
    }
    out
  }

  private def append(out: WritableColumnVector, dataType: DataType, value: NestedValue): Unit = dataType match {
    case StructType(fields) =>
      out.appendStruct(false)
      fields.indices.foreach(i => part(out.getChild(i), fields(i).dataType, value, i))
    case ArrayType(element, _) =>
      out.appendArray(value.size)
      (0 until value.size).foreach(part(out.getChild(0), element, value, _))
    case MapType(key, of, _) =>
      out.appendArray(value.size)
      (0 until value.size).foreach { i =>
        val entry = value.nested(i)
        part(out.getChild(0), key, entry, 0)
        part(out.getChild(1), of, entry, 1)
      }
    case other => throw new IllegalArgumentException(s"${other.simpleString} has no parts")
  }

  private def part(out: WritableColumnVector, dataType: DataType, of: NestedValue, i: Int): Unit =
    if (of.isNull(i)) appendNull(out, dataType)
    else
      dataType match {
        case _: StructType | _: ArrayType | _: MapType => append(out, dataType, of.nested(i))
        case _ => scalar(out, dataType, of.part(i))
      }

  private def scalar(out: WritableColumnVector, dataType: DataType, bytes: ByteBuffer): Unit = dataType match {
    case BooleanType => out.appendBoolean(bytes.get(0) != 0)
    case ByteType => out.appendByte(bytes.get(0))
    case ShortType => out.appendShort(bytes.getShort(0))
    case IntegerType | DateType => out.appendInt(bytes.getInt(0))
    case LongType | TimestampType | TimestampNTZType => out.appendLong(bytes.getLong(0))
    case FloatType => out.appendFloat(bytes.getFloat(0))
    case DoubleType => out.appendDouble(bytes.getDouble(0))
    case d: DecimalType if d.precision <= Decimal.MAX_INT_DIGITS => out.appendInt(bytes.getLong(0).toInt)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS => out.appendLong(bytes.getLong(0))
    case _: DecimalType => appendBytes(out, new BigInteger(bigEndian(bytes)).toByteArray)
    case _ =>
      val text = new Array[Byte](bytes.remaining)
      bytes.get(text)
      appendBytes(out, text)
  }

  private def bigEndian(bytes: ByteBuffer): Array[Byte] = Array.tabulate(bytes.remaining)(i => bytes.get(bytes.remaining - 1 - i))

  private def appendBytes(out: WritableColumnVector, bytes: Array[Byte]): Unit = out.appendByteArray(bytes, 0, bytes.length)

  private def appendNull(out: WritableColumnVector, dataType: DataType): Unit = dataType match {
    case _: StructType => out.appendStruct(true)
    case _ => out.appendNull()
  }
}

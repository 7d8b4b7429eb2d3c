package io.jumpgate.spark.exec

import io.jumpgate.dataflow.{DataType => JumpgateType}
import io.jumpgate.ntf.ColumnarFrame
import io.jumpgate.spark.plan.Values
import java.math.BigInteger
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** A column of a received frame, read where it is; whoever holds the frame decides how long that is. */
final class FrameVector(dataType: DataType, column: ColumnarFrame.Column, rows: Int) extends ColumnVector(dataType) {
  private val validity = if (column.hasNulls) column.validity.address else 0L
  private val offsets = if (column.offsets == null) 0L else column.offsets.address
  private val values = column.values.address
  private lazy val parts = Values.typeOf(dataType) match {
    case nested: JumpgateType.Nested => NestedColumn.read(dataType, nested, column, rows, isNullAt)
    case other => throw new UnsupportedOperationException(s"a column of ${other.name} has no parts")
  }

  override def close(): Unit = ()

  override def hasNull: Boolean = validity != 0L

  override def numNulls: Int = if (validity == 0L) 0 else (0 until rows).count(isNullAt)

  override def isNullAt(row: Int): Boolean = validity != 0L && !bit(validity, row)

  override def getBoolean(row: Int): Boolean = bit(values, row)

  override def getByte(row: Int): Byte = Platform.getByte(null, values + row)

  override def getShort(row: Int): Short = Platform.getShort(null, values + 2L * row)

  override def getInt(row: Int): Int = Platform.getInt(null, values + 4L * row)

  override def getLong(row: Int): Long = Platform.getLong(null, values + 8L * row)

  override def getFloat(row: Int): Float = Platform.getFloat(null, values + 4L * row)

  override def getDouble(row: Int): Double = Platform.getDouble(null, values + 8L * row)

  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    if (isNullAt(row)) null
    else if (precision <= Decimal.MAX_LONG_DIGITS)
      Decimal.createUnsafe(Platform.getLong(null, values + 16L * row), precision, scale)
    else {
      val bytes = new Array[Byte](16)
      var i = 0
      while (i < 16) {
        bytes(i) = Platform.getByte(null, values + 16L * row + 15 - i)
        i += 1
      }
      Decimal(new java.math.BigDecimal(new BigInteger(bytes), scale), precision, scale)
    }

  override def getUTF8String(row: Int): UTF8String =
    if (isNullAt(row)) null else UTF8String.fromAddress(null, values + start(row), start(row + 1) - start(row))

  override def getBinary(row: Int): Array[Byte] =
    if (isNullAt(row)) null
    else {
      val bytes = new Array[Byte](start(row + 1) - start(row))
      Platform.copyMemory(null, values + start(row), bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)
      bytes
    }

  override def getArray(row: Int): ColumnarArray = if (isNullAt(row)) null else parts.getArray(row)

  override def getMap(row: Int): ColumnarMap = if (isNullAt(row)) null else parts.getMap(row)

  override def getChild(ordinal: Int): ColumnVector = parts.getChild(ordinal)

  private def start(row: Int): Int = Platform.getInt(null, offsets + 4L * row)

  private def bit(address: Long, row: Int): Boolean = (Platform.getByte(null, address + (row >> 3)) >> (row & 7) & 1) != 0
}

object FrameVector {
  def batch(frame: ColumnarFrame, types: Array[DataType]): ColumnarBatch = {
    val columns = Array.tabulate[ColumnVector](types.length)(i => new FrameVector(types(i), frame.column(i), frame.rows))
    new ColumnarBatch(columns, frame.rows)
  }
}

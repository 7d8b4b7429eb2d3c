package io.jumpgate.ntf;

/** Gets the values of row tuples, field by field in order, from {@link RowReader}. */
public interface RowConsumer {
  void setNull(int field);

  void setBoolean(int field, boolean value);

  void setByte(int field, byte value);

  void setShort(int field, short value);

  /** int32 and date. */
  void setInt(int field, int value);

  /** int64, all kinds of times and timestamps, durations. */
  void setLong(int field, long value);

  void setFloat(int field, float value);

  void setDouble(int field, double value);

  /** The unscaled value of a decimal of up to 18 digits. */
  void setDecimal(int field, long unscaled);

  /** The upper and lower half of the unscaled value of a longer one. */
  void setDecimal(int field, long high, long low);

  /** string and binary: where its bytes are, as long as the frame is held. */
  void setText(int field, long address, int length);

  /** After the last field. */
  void endRow();
}

package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A frame's rows as plain values: Boolean, Long for whole numbers and times, Float, Double, BigInteger for decimals,
 * String, ByteBuffer for binary, null.
 */
final class FrameValues {
  private FrameValues() {}

  static List<List<Object>> of(Frame frame, Descriptor descriptor) {
    if (frame instanceof ColumnarFrame columnar) {
      return columns(columnar, descriptor.fields());
    }
    Rows rows = new Rows(descriptor.fields());
    RowReader.of(descriptor).read((RowFrame) frame, rows);
    return rows.rows;
  }

  private static List<List<Object>> columns(ColumnarFrame frame, List<Field> fields) {
    List<List<Object>> rows = new ArrayList<>();
    for (int row = 0; row < frame.rows(); row++) {
      List<Object> values = new ArrayList<>();
      for (int i = 0; i < fields.size(); i++) {
        ColumnarFrame.Column column = frame.column(i);
        boolean present = !column.hasNulls() || bit(column.validity().bytes(), row);
        values.add(present ? value(column, fields.get(i).type(), row) : null);
      }
      rows.add(values);
    }
    return rows;
  }

  private static Object value(ColumnarFrame.Column column, DataType type, int row) {
    ByteBuffer values = column.values().bytes();
    return switch (type.kind()) {
      case BOOL -> bit(values, row);
      case INT8 -> (long) values.get(row);
      case INT16 -> (long) values.getShort(2 * row);
      case INT32, DATE -> (long) values.getInt(4 * row);
      case FLOAT32 -> values.getFloat(4 * row);
      case FLOAT64 -> values.getDouble(8 * row);
      case DECIMAL -> wide(values.getLong(16 * row + 8), values.getLong(16 * row));
      case STRING, BINARY -> {
        ByteBuffer offsets = column.offsets().bytes();
        int start = offsets.getInt(4 * row);
        yield text(type, values.slice(start, offsets.getInt(4 * row + 4) - start));
      }
      default -> values.getLong(8 * row);
    };
  }

  private static boolean bit(ByteBuffer bits, int row) {
    return (bits.get(row / 8) >> row % 8 & 1) != 0;
  }

  private static BigInteger wide(long high, long low) {
    return BigInteger.valueOf(high).shiftLeft(64).add(new BigInteger(Long.toUnsignedString(low)));
  }

  private static Object text(DataType type, ByteBuffer bytes) {
    if (type.kind() == DataType.Kind.STRING) {
      return StandardCharsets.UTF_8.decode(bytes).toString();
    }
    return ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
  }

  /** Collects what a row reader says. */
  private static final class Rows implements RowConsumer {
    final List<List<Object>> rows = new ArrayList<>();
    private final List<Field> fields;
    private List<Object> row = new ArrayList<>();

    Rows(List<Field> fields) {
      this.fields = fields;
    }

    private void add(int field, Object value) {
      if (field != row.size()) {
        throw new AssertionError("field " + field + " came as number " + row.size());
      }
      row.add(value);
    }

    @Override
    public void setNull(int field) {
      add(field, null);
    }

    @Override
    public void setBoolean(int field, boolean value) {
      add(field, value);
    }

    @Override
    public void setByte(int field, byte value) {
      add(field, (long) value);
    }

    @Override
    public void setShort(int field, short value) {
      add(field, (long) value);
    }

    @Override
    public void setInt(int field, int value) {
      add(field, (long) value);
    }

    @Override
    public void setLong(int field, long value) {
      add(field, value);
    }

    @Override
    public void setFloat(int field, float value) {
      add(field, value);
    }

    @Override
    public void setDouble(int field, double value) {
      add(field, value);
    }

    @Override
    public void setDecimal(int field, long unscaled) {
      add(field, BigInteger.valueOf(unscaled));
    }

    @Override
    public void setDecimal(int field, long high, long low) {
      add(field, wide(high, low));
    }

    @Override
    public void setText(int field, long address, int length) {
      ByteBuffer bytes = ByteBuffer.allocate(length);
      for (int i = 0; i < length; i++) {
        bytes.put(Memory.getByte(address + i));
      }
      add(field, text(fields.get(field).type(), bytes.flip()));
    }

    @Override
    public void endRow() {
      rows.add(row);
      row = new ArrayList<>();
    }
  }
}

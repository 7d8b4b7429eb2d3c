package io.jumpgate.trino;

import io.airlift.slice.Slices;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.Copies;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.block.ArrayBlock;
import io.trino.spi.block.Block;
import io.trino.spi.block.BlockBuilder;
import io.trino.spi.block.ByteArrayBlock;
import io.trino.spi.block.Int128ArrayBlock;
import io.trino.spi.block.IntArrayBlock;
import io.trino.spi.block.LongArrayBlock;
import io.trino.spi.block.ShortArrayBlock;
import io.trino.spi.block.VariableWidthBlock;
import io.trino.spi.type.Int128;
import io.trino.spi.type.Type;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Received columns as Trino's blocks. */
final class Columns {
  private Columns() {}

  /** A copy of a received column; a NULL's value is whatever was sent. */
  static Block block(DataType type, ColumnarFrame.Column column, int rows) {
    Optional<boolean[]> nulls = Optional.ofNullable(Copies.nulls(column, rows));
    return switch (type.kind()) {
      case BOOL -> new ByteArrayBlock(rows, nulls, Copies.flags(column, rows));
      case INT8 -> new ByteArrayBlock(rows, nulls, Copies.bytes(column, rows));
      case INT16 -> new ShortArrayBlock(rows, nulls, Copies.shorts(column, rows));
      case INT32, FLOAT32, DATE -> new IntArrayBlock(rows, nulls, Copies.ints(column, rows));
      case INT64, FLOAT64, TIMESTAMP -> new LongArrayBlock(rows, nulls, Copies.longs(column, rows));
      case DECIMAL -> decimals((DataType.Decimal) type, nulls, Copies.longs(column, 2 * rows), rows);
      case STRING, BINARY -> {
        Copies.Texts texts = Copies.texts(column, rows);
        yield new VariableWidthBlock(rows, Slices.wrappedBuffer(texts.bytes()), texts.offsets(), nulls);
      }
      case LIST -> lists((DataType.Nested) type, nulls, column, rows);
      default -> throw new IllegalStateException(type.name());
    };
  }

  private static Block lists(DataType.Nested list, Optional<boolean[]> nulls, ColumnarFrame.Column column, int rows) {
    DataType element = list.parts().get(0).type();
    Type shown = Types.trino(element).orElseThrow();
    BlockBuilder elements = shown.createBlockBuilder(null, rows);
    int[] ends = Copies.elements(column, rows, list, bytes -> append(elements, shown, element, bytes));
    return ArrayBlock.fromElementBlock(rows, nulls, ends, elements.build());
  }

  private static void append(BlockBuilder out, Type shown, DataType type, ByteBuffer bytes) {
    if (bytes == null) {
      out.appendNull();
      return;
    }
    switch (type.kind()) {
      case BOOL -> shown.writeBoolean(out, bytes.get(0) != 0);
      case FLOAT64 -> shown.writeDouble(out, bytes.getDouble(0));
      case STRING, BINARY -> shown.writeSlice(out, Slices.wrappedBuffer(Copies.text(bytes)));
      default -> {
        if (bytes.remaining() > Long.BYTES) {
          shown.writeObject(out, Int128.valueOf(bytes.getLong(Long.BYTES), bytes.getLong(0)));
        } else {
          shown.writeLong(out, Copies.word(bytes));
        }
      }
    }
  }

  /** Trino keeps up to 18 digits in a long, and more as its high half, then its low half. */
  private static Block decimals(DataType.Decimal type, Optional<boolean[]> nulls, long[] words, int rows) {
    if (type.precision() <= DataType.Decimal.LONG_DIGITS) {
      long[] values = new long[rows];
      for (int row = 0; row < rows; row++) {
        values[row] = words[2 * row];
      }
      return new LongArrayBlock(rows, nulls, values);
    }
    for (int i = 0; i < words.length; i += 2) {
      long low = words[i];
      words[i] = words[i + 1];
      words[i + 1] = low;
    }
    return new Int128ArrayBlock(rows, nulls, words);
  }
}

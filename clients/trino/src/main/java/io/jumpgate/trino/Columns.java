package io.jumpgate.trino;

import io.airlift.slice.Slices;
import io.jumpgate.ErrorCode;
import io.jumpgate.JumpgateException;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.ntf.HeapColumn;
import io.jumpgate.trino.plan.Types;
import io.trino.spi.block.ArrayBlock;
import io.trino.spi.block.Block;
import io.trino.spi.block.ByteArrayBlock;
import io.trino.spi.block.Fixed12Block;
import io.trino.spi.block.Int128ArrayBlock;
import io.trino.spi.block.IntArrayBlock;
import io.trino.spi.block.LongArrayBlock;
import io.trino.spi.block.RowBlock;
import io.trino.spi.block.ShortArrayBlock;
import io.trino.spi.block.VariableWidthBlock;
import io.trino.spi.type.DateTimeEncoding;
import io.trino.spi.type.MapType;
import io.trino.spi.type.TimeZoneKey;
import io.trino.spi.type.Type;
import java.util.Optional;
import java.util.stream.IntStream;

/** Received columns as Trino's blocks. */
final class Columns {
  private static final int INTS_EACH = 3; // of 12 bytes
  private static final int PICOS_PER_NANO = 1_000;
  private static final int PICOS_PER_MICRO = 1_000_000;
  private static final int ZONE_BITS = 12;

  private Columns() {}

  /** A received column, which gives up its arrays; a NULL's value is whatever was sent. */
  static Block block(Type shown, HeapColumn column) {
    int count = column.count();
    Optional<boolean[]> nulls = Optional.ofNullable(column.nulls());
    return switch (column.type().kind()) {
      case BOOL, INT8 -> new ByteArrayBlock(count, nulls, column.bytes());
      case INT16 -> new ShortArrayBlock(count, nulls, column.shorts());
      case INT32, FLOAT32, DATE -> new IntArrayBlock(count, nulls, column.ints());
      case INT64, FLOAT64, TIMESTAMP -> new LongArrayBlock(count, nulls, column.longs());
      case TIMESTAMP_NS -> new Fixed12Block(count, nulls, nanoseconds(column.longs()));
      case TIMESTAMPTZ, TIMESTAMPTZ_NS -> new Fixed12Block(count, nulls, moments(column));
      case DECIMAL -> decimals((DataType.Decimal) column.type(), nulls, column);
      case STRING, BINARY ->
        new VariableWidthBlock(count, Slices.wrappedBuffer(column.bytes()), column.offsets(), nulls);
      case LIST -> ArrayBlock.fromElementBlock(count, nulls, column.offsets(), part(shown, column, 0));
      case MAP ->
        ((MapType) shown)
            .createBlockFromKeyValue(nulls, column.offsets(), part(shown, column, 0), part(shown, column, 1));
      case STRUCT -> {
        Block[] fields =
            IntStream.range(0, column.parts().size()).mapToObj(i -> part(shown, column, i)).toArray(Block[] ::new);
        yield RowBlock.fromNotNullSuppressedFieldBlocks(count, nulls, fields);
      }
      default -> throw new IllegalStateException(column.type().name());
    };
  }

  private static Block part(Type shown, HeapColumn column, int part) {
    return block(shown.getTypeParameters().get(part), column.parts().get(part));
  }

  /** Microseconds, and what is beyond. */
  private static int[] nanoseconds(long[] values) {
    int[] words = new int[INTS_EACH * values.length];
    for (int i = 0; i < values.length; i++) {
      int rest = (int) Math.floorMod(values[i], 1_000L);
      Fixed12Block.encodeFixed12(Math.floorDiv(values[i], 1_000L), rest * PICOS_PER_NANO, words, i);
    }
    return words;
  }

  /** Milliseconds with the column's zone, and what is beyond. */
  private static int[] moments(HeapColumn column) {
    TimeZoneKey zone = Types.zone((DataType.Zoned) column.type()).orElseThrow();
    boolean nanos = column.type().kind() == DataType.Kind.TIMESTAMPTZ_NS;
    int picosEach = nanos ? PICOS_PER_NANO : PICOS_PER_MICRO;
    long unit = nanos ? 1_000_000 : 1_000;
    long[] values = column.longs();
    int[] words = new int[INTS_EACH * values.length];
    for (int i = 0; i < values.length; i++) {
      if (!column.isNull(i)) {
        long millis = Math.floorDiv(values[i], unit);
        if (millis << ZONE_BITS >> ZONE_BITS != millis) {
          throw new JumpgateException(ErrorCode.DATA, "a moment in no year that Trino has: leave the column out");
        }
        int rest = (int) Math.floorMod(values[i], unit);
        Fixed12Block.encodeFixed12(DateTimeEncoding.packDateTimeWithZone(millis, zone), rest * picosEach, words, i);
      }
    }
    return words;
  }

  /** Trino keeps up to 18 digits in a long, and more as its high half, then its low half. */
  private static Block decimals(DataType.Decimal type, Optional<boolean[]> nulls, HeapColumn column) {
    long[] words = column.longs();
    if (type.precision() <= DataType.Decimal.LONG_DIGITS) {
      return new LongArrayBlock(column.count(), nulls, words);
    }
    for (int i = 0; i < words.length; i += 2) {
      long low = words[i];
      words[i] = words[i + 1];
      words[i + 1] = low;
    }
    return new Int128ArrayBlock(column.count(), nulls, words);
  }
}

package io.jumpgate.presto;

import com.facebook.presto.common.block.ArrayBlock;
import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.block.ByteArrayBlock;
import com.facebook.presto.common.block.Int128ArrayBlock;
import com.facebook.presto.common.block.IntArrayBlock;
import com.facebook.presto.common.block.LongArrayBlock;
import com.facebook.presto.common.block.RowBlock;
import com.facebook.presto.common.block.ShortArrayBlock;
import com.facebook.presto.common.block.VariableWidthBlock;
import com.facebook.presto.common.type.MapType;
import com.facebook.presto.common.type.Type;
import io.airlift.slice.Slices;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.ntf.ColumnarFrame;
import io.jumpgate.ntf.HeapColumn;
import io.jumpgate.presto.plan.SessionTime;
import io.jumpgate.presto.plan.Types;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Received columns as Presto's blocks. */
final class Columns {
  private final List<Field> fields;
  private final List<Type> types;
  private final SessionTime time;

  Columns(List<Field> fields, Types types, SessionTime time) {
    this.fields = fields;
    this.types = fields.stream().map(field -> types.presto(field.type())).toList();
    this.time = time;
  }

  /** Copies of a frame's columns; a NULL's value is whatever was sent. */
  Block[] blocks(ColumnarFrame frame) {
    return IntStream.range(0, fields.size())
        .mapToObj(i -> {
          Field field = fields.get(i);
          return block(field.name(), types.get(i), HeapColumn.of(field.type(), frame.column(i), frame.rows()));
        })
        .toArray(Block[] ::new);
  }

  private Block block(String name, Type shown, HeapColumn column) {
    int count = column.count();
    Optional<boolean[]> nulls = Optional.ofNullable(column.nulls());
    return switch (column.type().kind()) {
      case BOOL, INT8 -> new ByteArrayBlock(count, nulls, column.bytes());
      case INT16 -> new ShortArrayBlock(count, nulls, column.shorts());
      case INT32, FLOAT32, DATE -> new IntArrayBlock(count, nulls, column.ints());
      case INT64, FLOAT64 -> new LongArrayBlock(count, nulls, column.longs());
      case TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS ->
        new LongArrayBlock(count, nulls, time.values(column, name));
      case DECIMAL -> decimals((DataType.Decimal) column.type(), nulls, column);
      case STRING, BINARY ->
        new VariableWidthBlock(count, Slices.wrappedBuffer(column.bytes()), column.offsets(), nulls);
      case LIST -> ArrayBlock.fromElementBlock(count, nulls, column.offsets(), part(name, shown, column, 0));
      case MAP ->
        ((MapType) shown)
            .createBlockFromKeyValue(
                count, nulls, column.offsets(), part(name, shown, column, 0), part(name, shown, column, 1));
      case STRUCT -> rows(name, shown, column);
      default -> throw new IllegalStateException(column.type().name());
    };
  }

  private Block part(String name, Type shown, HeapColumn column, int part) {
    String path = name + "." + ((DataType.Nested) column.type()).parts().get(part).name();
    return block(path, shown.getTypeParameters().get(part), column.parts().get(part));
  }

  /** Presto's fields have no value where the row is NULL. */
  private Block rows(String name, Type shown, HeapColumn column) {
    Block[] fields =
        IntStream.range(0, column.parts().size()).mapToObj(i -> part(name, shown, column, i)).toArray(Block[] ::new);
    if (column.nulls() != null) {
      int[] known = IntStream.range(0, column.count()).filter(row -> !column.isNull(row)).toArray();
      for (int i = 0; i < fields.length; i++) {
        fields[i] = fields[i].copyPositions(known, 0, known.length);
      }
    }
    return RowBlock.fromFieldBlocks(column.count(), Optional.ofNullable(column.nulls()), fields);
  }

  /** Presto keeps up to 18 digits in a long, and more as sign and magnitude. */
  private static Block decimals(DataType.Decimal type, Optional<boolean[]> nulls, HeapColumn column) {
    long[] words = column.longs();
    if (type.precision() <= DataType.Decimal.LONG_DIGITS) {
      return new LongArrayBlock(column.count(), nulls, words);
    }
    for (int i = 0; i < words.length; i += 2) {
      if (words[i + 1] < 0) {
        words[i + 1] = (words[i] == 0 ? -words[i + 1] : ~words[i + 1]) | Long.MIN_VALUE;
        words[i] = -words[i];
      }
    }
    return new Int128ArrayBlock(column.count(), nulls, words);
  }
}

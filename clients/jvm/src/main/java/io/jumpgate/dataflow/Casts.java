package io.jumpgate.dataflow;

import java.util.Set;

/** Which casts give a value for every value: the service says so in jumpgate/dataflow/casts.py. */
public final class Casts {
  private static final Set<DataType.Kind> NANOSECONDS =
      Set.of(DataType.Kind.TIMESTAMP_NS, DataType.Kind.TIMESTAMPTZ_NS);

  private Casts() {}

  public static boolean cannotFail(DataType source, DataType target) {
    if (source.same(target) || source.kind() == DataType.Kind.BOOL) {
      return true;
    }
    if (source.kind() == DataType.Kind.STRING) {
      return target.kind() == DataType.Kind.BINARY;
    }
    return switch (target.kind()) {
      case TIMESTAMP_NS, TIMESTAMPTZ_NS -> NANOSECONDS.contains(source.kind());
      case DATE, TIME, DURATION, TIMESTAMP, TIMESTAMPTZ -> true;
      case STRING, BOOL -> source.kind() != DataType.Kind.BINARY;
      case FLOAT32, FLOAT64 -> isNumeric(source);
      case INT8, INT16, INT32, INT64 -> source.isWhole() && source.width() <= target.width();
      case DECIMAL -> fits(source, (DataType.Decimal) target);
      default -> false;
    };
  }

  private static boolean fits(DataType source, DataType.Decimal target) {
    int digits = switch (source.kind()) {
      case INT8 -> 3;
      case INT16 -> 5;
      case INT32 -> 10;
      case INT64 -> 19;
      default -> source instanceof DataType.Decimal decimal ? decimal.precision() - decimal.scale() : 39;
    };
    int scale = source instanceof DataType.Decimal decimal ? decimal.scale() : 0;
    return scale <= target.scale() && digits <= target.precision() - target.scale();
  }

  private static boolean isNumeric(DataType type) {
    return type.isWhole() || type.isFloat() || type instanceof DataType.Decimal;
  }
}

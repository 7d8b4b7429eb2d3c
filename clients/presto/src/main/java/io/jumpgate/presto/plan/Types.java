package io.jumpgate.presto.plan;

import com.facebook.presto.common.type.ArrayType;
import com.facebook.presto.common.type.BigintType;
import com.facebook.presto.common.type.BooleanType;
import com.facebook.presto.common.type.DateType;
import com.facebook.presto.common.type.DecimalType;
import com.facebook.presto.common.type.Decimals;
import com.facebook.presto.common.type.DoubleType;
import com.facebook.presto.common.type.IntegerType;
import com.facebook.presto.common.type.MapType;
import com.facebook.presto.common.type.RealType;
import com.facebook.presto.common.type.RowType;
import com.facebook.presto.common.type.SmallintType;
import com.facebook.presto.common.type.TimeZoneKey;
import com.facebook.presto.common.type.TimeZoneNotSupportedException;
import com.facebook.presto.common.type.TimestampType;
import com.facebook.presto.common.type.TimestampWithTimeZoneType;
import com.facebook.presto.common.type.TinyintType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.TypeManager;
import com.facebook.presto.common.type.TypeSignatureParameter;
import com.facebook.presto.common.type.VarbinaryType;
import com.facebook.presto.common.type.VarcharType;
import io.airlift.slice.Slice;
import io.jumpgate.catalog.ReadableTypes;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Field;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.sql.SqlTypes;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Jumpgate's types and values as Presto's, and the other way. */
public record Types(TypeManager manager) implements ReadableTypes {
  private static final Pattern PLAIN = Pattern.compile("[a-z_][a-z0-9_]*");

  /** Presto's type of the same values. Raises IllegalArgumentException for one that is not readable. */
  public Type presto(DataType type) {
    if (!(type instanceof DataType.Nested nested)) {
      return scalar(type).orElseThrow(() -> new IllegalArgumentException(type.name()));
    }
    List<Type> parts = nested.parts().stream().map(part -> presto(part.type())).toList();
    return switch (type.kind()) {
      case LIST -> new ArrayType(parts.get(0));
      case MAP ->
        manager.getParameterizedType(
            "map", parts.stream().map(part -> TypeSignatureParameter.of(part.getTypeSignature())).toList());
      default -> RowType.from(nested.parts().stream().map(this::field).toList());
    };
  }

  private RowType.Field field(Field part) {
    return RowType.field(part.name(), presto(part.type()), !PLAIN.matcher(part.name()).matches());
  }

  private static Optional<Type> scalar(DataType type) {
    return Optional.ofNullable(switch (type.kind()) {
      case BOOL -> BooleanType.BOOLEAN;
      case INT8 -> TinyintType.TINYINT;
      case INT16 -> SmallintType.SMALLINT;
      case INT32 -> IntegerType.INTEGER;
      case INT64 -> BigintType.BIGINT;
      case FLOAT32 -> RealType.REAL;
      case FLOAT64 -> DoubleType.DOUBLE;
      case DATE -> DateType.DATE;
      case TIMESTAMP, TIMESTAMP_NS -> TimestampType.TIMESTAMP;
      case TIMESTAMPTZ, TIMESTAMPTZ_NS -> TimestampWithTimeZoneType.TIMESTAMP_WITH_TIME_ZONE;
      case STRING -> VarcharType.VARCHAR;
      case BINARY -> VarbinaryType.VARBINARY;
      case DECIMAL -> {
        DataType.Decimal decimal = (DataType.Decimal) type;
        yield DecimalType.createDecimalType(decimal.precision(), decimal.scale());
      }
      default -> null;
    });
  }

  @Override
  public Optional<String> whyNotScalar(DataType type) {
    if (type instanceof DataType.Zoned zoned && zone(zoned).isEmpty()) {
      return Optional.of(NO_ZONE);
    }
    return scalar(type).isPresent() ? Optional.empty() : Optional.of(NO_TYPE);
  }

  /** Presto's number for a zone; empty: it has none. */
  public static Optional<TimeZoneKey> zone(DataType.Zoned type) {
    try {
      return Optional.of(TimeZoneKey.getTimeZoneKey(type.zone()));
    } catch (TimeZoneNotSupportedException e) {
      return Optional.empty();
    }
  }

  /** Jumpgate's type of the same values, nullable. Raises NotOffloaded. */
  static DataType jumpgate(Type type) {
    if (type instanceof DecimalType decimal) {
      return DataType.decimal(decimal.getPrecision(), decimal.getScale());
    }
    if (type instanceof VarcharType) {
      return DataType.STRING;
    }
    if (type.equals(TimestampType.TIMESTAMP)) {
      return DataType.TIMESTAMP;
    }
    if (isNested(type)) {
      throw new NotOffloaded(Code.TYPE, "arrays, maps and rows are computed by Presto: " + type.getDisplayName());
    }
    return SqlTypes.named(type.getTypeSignature().getBase(), type.getDisplayName());
  }

  static boolean isNested(Type type) {
    return type instanceof ArrayType || type instanceof MapType || type instanceof RowType;
  }

  /** A constant as Presto's plans have it; of a timestamp the session says what it means. */
  static Expression literal(Object value, Type type) {
    return SqlTypes.literal(
        value, jumpgate(type), text -> ((Slice) text).getBytes(), large -> Decimals.decodeUnscaledValue((Slice) large));
  }
}

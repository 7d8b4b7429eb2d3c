package io.jumpgate.dataflow;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The type of a call, from its arguments. The declarations in Python name these rules (signatures.py, aggregates.py);
 * tests/golden/requests/types.json has examples of each.
 */
interface TypeRule {
  TypeRule FIRST = arguments -> arguments.get(0).type();
  TypeRule SECOND = arguments -> arguments.get(1).type();
  TypeRule NULLABLE_FIRST = arguments -> arguments.get(0).type().withNullable(true);
  /** Of a predicate that is never NULL. */
  TypeRule CERTAIN = always(DataType.BOOL.withNullable(false));
  TypeRule COUNT = always(DataType.INT64.withNullable(false));
  TypeRule NUMBER = always(DataType.FLOAT64.withNullable(false));

  TypeRule THREE_VALUED =
      arguments -> DataType.BOOL.withNullable(arguments.stream().anyMatch(a -> a.type().nullable()));

  TypeRule COALESCED =
      arguments -> arguments.get(0).type().withNullable(arguments.stream().allMatch(a -> a.type().nullable()));

  TypeRule AS_SEPARATOR = arguments -> DataType.STRING.withNullable(arguments.get(0).type().nullable());

  /** Of two terms, which have one type. */
  TypeRule SUM = arguments
      -> arguments.get(0).type() instanceof DataType.Decimal d ? decimal(d.precision() + 1, d.scale())
                                                               : arguments.get(0).type();

  TypeRule PRODUCT = arguments
      -> arguments.get(0).type() instanceof DataType.Decimal a && arguments.get(1).type() instanceof DataType.Decimal b
      ? decimal(a.precision() + b.precision(), a.scale() + b.scale())
      : arguments.get(0).type();

  /** To the digits of the second argument; 0 without. */
  TypeRule ROUND = arguments -> {
    int digits = arguments.size() > 1 ? whole(arguments.get(1)) : 0;
    if (!(arguments.get(0).type() instanceof DataType.Decimal d) || digits >= d.scale()) {
      return arguments.get(0).type();
    }
    return decimal(d.precision() + (digits < 0 ? 1 : 0), Math.max(digits, 0));
  };

  TypeRule WHOLE = arguments
      -> arguments.get(0).type() instanceof DataType.Decimal d ? decimal(d.precision(), 0) : arguments.get(0).type();

  /** The decimal that the last two arguments specify. */
  TypeRule DECLARED =
      arguments -> decimal(whole(arguments.get(arguments.size() - 2)), whole(arguments.get(arguments.size() - 1)));

  /** Of all rows of a group. */
  TypeRule SUMMED = arguments -> switch (arguments.get(0).type().kind()) {
    case DECIMAL -> decimal(DataType.Decimal.DIGITS_MAX, ((DataType.Decimal) arguments.get(0).type()).scale());
    case INT8, INT16, INT32, INT64 -> DataType.INT64;
    default -> DataType.FLOAT64;
  };

  TypeRule MIDDLE =
      arguments -> arguments.get(0).type() instanceof DataType.Decimal d ? d.withNullable(true) : DataType.FLOAT64;

  TypeRule LISTED = arguments -> DataType.list(arguments.get(0).type());
  /** Of all rows of a group, also of none. */
  TypeRule COLLECTED = arguments -> LISTED.of(arguments).withNullable(false);
  TypeRule ELEMENT = arguments -> part(arguments.get(0), 0);
  TypeRule VALUE = arguments -> part(arguments.get(0), 1);
  TypeRule KEYS = arguments -> DataType.list(part(arguments.get(0), 0));
  TypeRule VALUES = arguments -> DataType.list(part(arguments.get(0), 1));
  /** Of a list of keys and one of values. */
  TypeRule MAP = arguments -> DataType.map(part(arguments.get(0), 0), part(arguments.get(1), 0));
  TypeRule STRUCT = arguments -> fields(arguments.stream().map(Expression::type).toList()).withNullable(false);
  /** Of lists. */
  TypeRule ZIP = arguments -> DataType.list(fields(arguments.stream().map(a -> part(a, 0)).toList()));

  DataType of(List<Expression> arguments);

  static TypeRule always(DataType type) {
    return arguments -> type;
  }

  private static DataType decimal(int precision, int scale) {
    return DataType.decimal(Math.min(precision, DataType.Decimal.DIGITS_MAX), scale);
  }

  private static DataType part(Expression nested, int number) {
    return ((DataType.Nested) nested.type()).parts().get(number).type();
  }

  private static DataType fields(List<DataType> types) {
    return DataType.struct(
        IntStream.range(0, types.size()).mapToObj(i -> new Field("f" + i, types.get(i).withNullable(true))).toList());
  }

  private static int whole(Expression literal) {
    return (int) literal.toProto(List.of()).getLiteral().getInteger();
  }
}

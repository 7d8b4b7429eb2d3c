package io.jumpgate.trino.plan;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.dataflow.Operator;
import io.jumpgate.dataflow.ScalarFunction;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.explain.Reason;
import io.jumpgate.trino.JumpgateColumn;
import io.jumpgate.trino.TableHandle;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.ConstraintApplicationResult;
import io.trino.spi.expression.Call;
import io.trino.spi.expression.ConnectorExpression;
import io.trino.spi.expression.Constant;
import io.trino.spi.expression.StandardFunctions;
import io.trino.spi.predicate.Domain;
import io.trino.spi.predicate.Range;
import io.trino.spi.predicate.TupleDomain;
import io.trino.spi.type.BooleanType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Conditions on a handle's rows: domains of columns, and expressions. */
public final class Filters {
  /** Of a domain that is offloaded: a request has each as a literal. */
  private static final int RANGES_MAX = 4096;

  private final TableHandle handle;
  private final List<Expression> terms = new ArrayList<>();
  private NotOffloaded refused;

  private Filters(TableHandle handle) {
    this.handle = handle;
  }

  /** The terms that are known go into the handle. Raises NotOffloaded if there are others, and all are. */
  public static Optional<ConstraintApplicationResult<ConnectorTableHandle>> apply(
      TableHandle handle, Constraint constraint) {
    return new Filters(handle).apply(constraint);
  }

  /**
   * The handle's rows without some that are not wanted, if there are terms that can tell: who wants them drops the
   * others itself, so that what is not offloaded is left out, and long lists become ranges.
   */
  public static Optional<Operator> narrowed(TableHandle handle, TupleDomain<ColumnHandle> wanted) {
    Operator input = handle.operator();
    Filters filters = new Filters(handle);
    wanted.getDomains().orElseThrow().forEach((column, domain) -> filters.tried(() -> {
      Expression value = input.column(((JumpgateColumn) column).index());
      return domain(value, domain.simplify(RANGES_MAX));
    }));
    return filters.terms.isEmpty() ? Optional.empty() : Optional.of(input.filter(all(filters.terms)));
  }

  private Optional<ConstraintApplicationResult<ConnectorTableHandle>> apply(Constraint constraint) {
    Operator input = handle.operator();
    TupleDomain<ColumnHandle> enforced = handle.pushed().enforced();
    Map<ColumnHandle, Domain> known = new LinkedHashMap<>();
    Map<ColumnHandle, Domain> stay = new LinkedHashMap<>();
    constraint.getSummary().getDomains().orElse(Map.of()).forEach((column, domain) -> {
      if (!enforced.getDomain(column, domain.getType()).equals(domain)) {
        boolean taken = tried(() -> domain(input.column(((JumpgateColumn) column).index()), domain));
        (taken ? known : stay).put(column, domain);
      }
    });
    Scope scope = Scope.of(input.schema(), constraint.getAssignments());
    List<ConnectorExpression> rest = new ArrayList<>();
    for (ConnectorExpression term : conjuncts(constraint.getExpression())) {
      if (!tried(() -> new ExpressionTranslator(scope).translate(term))) {
        rest.add(term);
      }
    }
    if (terms.isEmpty()) {
      if (refused != null) {
        throw refused;
      }
      return Optional.empty();
    }
    Operator filtered = input.filter(all(terms));
    TupleDomain<ColumnHandle> now = enforced.intersect(TupleDomain.withColumnDomains(known));
    TableHandle above = handle.then(filtered, now, "");
    return Optional.of(
        new ConstraintApplicationResult<>(above, TupleDomain.withColumnDomains(stay), conjunction(rest), false));
  }

  /** Whether a term is offloaded; why not is remembered. */
  private boolean tried(Supplier<Expression> term) {
    try {
      terms.add(term.get());
      return true;
    } catch (NotOffloaded e) {
      Reason reason = e.reason();
      refused = refused == null ? new NotOffloaded(reason) : refused;
      return false;
    }
  }

  static List<ConnectorExpression> conjuncts(ConnectorExpression e) {
    if (e instanceof Call call && call.getFunctionName().equals(StandardFunctions.AND_FUNCTION_NAME)) {
      return call.getArguments().stream().flatMap(term -> conjuncts(term).stream()).toList();
    }
    return e.equals(Constant.TRUE) ? List.of() : List.of(e);
  }

  /** Their conjunction; there is one at least. */
  static Expression all(List<Expression> terms) {
    return terms.size() == 1 ? terms.get(0) : ScalarFunction.AND.of(terms.toArray(Expression[] ::new));
  }

  private static ConnectorExpression conjunction(List<ConnectorExpression> terms) {
    return switch (terms.size()) {
      case 0 -> Constant.TRUE;
      case 1 -> terms.get(0);
      default -> new Call(BooleanType.BOOLEAN, StandardFunctions.AND_FUNCTION_NAME, terms);
    };
  }

  // ---- domains

  private static Expression domain(Expression column, Domain domain) {
    if (column.type().isFloat()) {
      throw new NotOffloaded(Code.DIALECT, "Trino's ranges of floating-point numbers say nothing of NaN");
    }
    if (domain.getValues().isAll()) {
      return domain.isNullAllowed() ? Expression.bool(true) : ScalarFunction.IS_NOT_NULL.of(column);
    }
    if (domain.isOnlyNull()) {
      return ScalarFunction.IS_NULL.of(column);
    }
    Types.requireScalar(domain.getType().getDisplayName(), column.type());
    Expression values = domain.getValues().isNone() ? Expression.bool(false) : values(column, domain);
    return domain.isNullAllowed() ? ScalarFunction.OR.of(ScalarFunction.IS_NULL.of(column), values) : values;
  }

  private static Expression values(Expression column, Domain domain) {
    List<Range> ranges = domain.getValues().getRanges().getOrderedRanges();
    if (ranges.size() > RANGES_MAX) {
      throw new NotOffloaded(Code.EXPRESSION, "%d ranges of a column are too many".formatted(ranges.size()));
    }
    List<Expression> singles = new ArrayList<>();
    List<Expression> any = new ArrayList<>();
    for (Range range : ranges) {
      if (range.isSingleValue()) {
        singles.add(Types.literal(range.getSingleValue(), range.getType(), column.type()));
      } else {
        any.add(between(column, range));
      }
    }
    if (!singles.isEmpty()) {
      any.add(singles.size() == 1 ? ScalarFunction.EQ.of(column, singles.get(0)) : Expression.in(column, singles));
    }
    return any.size() == 1 ? any.get(0) : ScalarFunction.OR.of(any.toArray(Expression[] ::new));
  }

  private static Expression between(Expression column, Range range) {
    List<Expression> bounds = new ArrayList<>();
    range.getLowValue().ifPresent(low
        -> bounds.add((range.isLowInclusive() ? ScalarFunction.GE : ScalarFunction.GT)
                .of(column, Types.literal(low, range.getType(), column.type()))));
    range.getHighValue().ifPresent(high
        -> bounds.add((range.isHighInclusive() ? ScalarFunction.LE : ScalarFunction.LT)
                .of(column, Types.literal(high, range.getType(), column.type()))));
    return all(bounds);
  }
}

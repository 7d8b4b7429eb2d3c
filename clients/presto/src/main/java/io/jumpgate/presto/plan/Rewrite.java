package io.jumpgate.presto.plan;

import com.facebook.presto.common.predicate.TupleDomain;
import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.plan.FilterNode;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.PlanNodeIdAllocator;
import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.plan.TopNNode;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.Coverage;
import io.jumpgate.explain.NotOffloaded;
import io.jumpgate.explain.Reason;
import io.jumpgate.presto.JumpgateColumn;
import io.jumpgate.presto.LayoutHandle;
import io.jumpgate.presto.TableHandle;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One plan on its way to scans of results. */
final class Rewrite {
  /** What Presto does where engines differ. */
  private static final Dialect PRESTO =
      new Dialect(Dialect.OnOverflow.ERROR, Dialect.DivisionByZero.IEEE, Dialect.ToInteger.ROUND, Dialect.Nan.LARGEST);

  /** A filter that stays for some of its terms, above the part that has the others. */
  private record Rest(Part below, RowExpression predicate) {}

  private final PlanTranslator translator;
  private final PlanNodeIdAllocator ids;
  private final Map<PlanNode, Optional<Part>> parts = new IdentityHashMap<>();
  private final Map<PlanNode, Rest> rests = new IdentityHashMap<>();
  private final List<Coverage.Stay> stays = new ArrayList<>();
  private Coverage coverage = Coverage.NONE;

  Rewrite(PlanTranslator translator, PlanNodeIdAllocator ids) {
    this.translator = translator;
    this.ids = ids;
  }

  PlanNode apply(PlanNode plan) {
    part(plan);
    int offloaded = offloaded(plan);
    coverage = new Coverage(offloaded, parts.size(), stays);
    return rewritten(plan);
  }

  /** Of the plan that was rewritten. */
  Coverage coverage() {
    return coverage;
  }

  /** How many of the operators from this one on; what a part has that is not whole stays. */
  private int offloaded(PlanNode node) {
    if (isPlaced(node)) {
      return size(node);
    }
    if (parts.get(node).isPresent()) {
      stays.add(new Coverage.Stay(name(node), new Reason(Code.OPERATOR, "what is above it relies on it in this plan")));
    }
    return node.getSources().stream().mapToInt(this::offloaded).sum();
  }

  private static int size(PlanNode node) {
    return 1 + node.getSources().stream().mapToInt(Rewrite::size).sum();
  }

  /** Whether a scan of its part's result is in the new plan; above one of the first rows Presto sorts them again. */
  private boolean isPlaced(PlanNode node) {
    return parts.get(node).filter(part -> part.isWhole() || node instanceof TopNNode).isPresent();
  }

  /** The plan's node with all below it, if it is offloaded; what stays is noted. */
  private Optional<Part> part(PlanNode node) {
    List<Optional<Part>> inputs = node.getSources().stream().map(this::part).toList();
    Optional<Part> found = Optional.empty();
    if (inputs.stream().allMatch(Optional::isPresent)) {
      try {
        found = Optional.of(translator.translate(node, inputs.stream().map(Optional::get).toList()));
      } catch (NotOffloaded e) {
        Reason reason = e.reason();
        if (node instanceof FilterNode filter && inputs.get(0).get().isWhole()) {
          reason = new Reason(reason.code(), reason.sentence() + split(filter, inputs.get(0).get()), reason.setting());
        }
        stays.add(new Coverage.Stay(name(node), reason));
      }
    } else {
      stays.add(new Coverage.Stay(name(node), new Reason(Code.OPERATOR, "what is below it stays")));
    }
    parts.put(node, found);
    return found;
  }

  /** Terms that are offloaded go before those that stay, unless one of these may guard them; says how many do. */
  private String split(FilterNode filter, Part input) {
    Part below = input;
    List<RowExpression> rest = new ArrayList<>();
    List<RowExpression> terms = Conjuncts.of(filter.getPredicate());
    for (RowExpression term : terms) {
      Optional<Part> filtered = rest.isEmpty() || translator.cannotFail(term) ? tried(term, below) : Optional.empty();
      if (filtered.isEmpty()) {
        rest.add(term);
      }
      below = filtered.orElse(below);
    }
    rests.put(filter, new Rest(below, Conjuncts.and(rest)));
    int offloaded = terms.size() - rest.size();
    return offloaded == 0 ? "" : "; %d of its %d terms are offloaded".formatted(offloaded, terms.size());
  }

  private Optional<Part> tried(RowExpression term, Part input) {
    try {
      return Optional.of(translator.filter(term, input));
    } catch (NotOffloaded e) {
      return Optional.empty();
    }
  }

  private static String name(PlanNode node) {
    return node.getClass().getSimpleName().replace("Node", "");
  }

  private PlanNode rewritten(PlanNode node) {
    if (isPlaced(node)) {
      PlanNode scan = scan(parts.get(node).get());
      return node instanceof TopNNode ? node.replaceChildren(List.of(scan)) : scan;
    }
    if (rests.containsKey(node)) {
      Rest rest = rests.get(node);
      return new FilterNode(node.getSourceLocation(), ids.getNextId(), scan(rest.below()), rest.predicate());
    }
    return node.replaceChildren(node.getSources().stream().map(this::rewritten).toList());
  }

  private PlanNode scan(Part part) {
    com.facebook.presto.spi.TableHandle table = part.scan().getTable();
    TableHandle origin = (TableHandle) table.getConnectorHandle();
    Map<VariableReferenceExpression, ColumnHandle> columns = new LinkedHashMap<>();
    for (int i = 0; i < part.variables().size(); i++) {
      columns.put(part.variables().get(i), new JumpgateColumn(i, part.operator().schema().get(i)));
    }
    TableHandle handle = origin.result(Unsent.of(part.operator(), PRESTO), coverage.text());
    return new TableScanNode(part.scan().getSourceLocation(), ids.getNextId(),
        new com.facebook.presto.spi.TableHandle(
            table.getConnectorId(), handle, table.getTransaction(), Optional.of(new LayoutHandle(handle))),
        part.variables(), columns, TupleDomain.all(), TupleDomain.all(), Optional.empty());
  }
}

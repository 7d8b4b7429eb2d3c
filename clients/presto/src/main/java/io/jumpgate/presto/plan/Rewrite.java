package io.jumpgate.presto.plan;

import com.facebook.presto.common.predicate.TupleDomain;
import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.PlanNodeIdAllocator;
import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.Dialect;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Unsent;
import io.jumpgate.explain.Code;
import io.jumpgate.explain.Coverage;
import io.jumpgate.explain.Reason;
import io.jumpgate.presto.JumpgateColumn;
import io.jumpgate.presto.LayoutHandle;
import io.jumpgate.presto.SessionProperties;
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
  private static final Dialect PRESTO = new Dialect("error", "ieee", "round", "ieee");

  private final PlanTranslator translator;
  private final SessionProperties properties;
  private final PlanNodeIdAllocator ids;
  private final Map<PlanNode, Optional<Part>> parts = new IdentityHashMap<>();
  private final List<Coverage.Stay> stays = new ArrayList<>();

  Rewrite(PlanTranslator translator, SessionProperties properties, PlanNodeIdAllocator ids) {
    this.translator = translator;
    this.properties = properties;
    this.ids = ids;
  }

  PlanNode apply(PlanNode plan) {
    part(plan);
    return rewritten(plan);
  }

  /** The plan's node with all below it, if it is offloaded; what stays is noted. */
  private Optional<Part> part(PlanNode node) {
    List<Optional<Part>> inputs = node.getSources().stream().map(this::part).toList();
    Optional<Part> found = Optional.empty();
    if (inputs.stream().allMatch(Optional::isPresent)) {
      try {
        found = Optional.of(node instanceof TableScanNode scan ? translator.scan(scan)
                                                               : translator.translate(node, inputs.get(0).get()));
      } catch (NotOffloaded e) {
        stays.add(new Coverage.Stay(name(node), e.reason()));
      }
    } else {
      stays.add(new Coverage.Stay(name(node), new Reason(Code.OPERATOR, "what is below it stays")));
    }
    parts.put(node, found);
    return found;
  }

  private static String name(PlanNode node) {
    return node.getClass().getSimpleName().replace("Node", "");
  }

  private PlanNode rewritten(PlanNode node) {
    return parts.get(node)
        .map(this::scan)
        .orElseGet(() -> node.replaceChildren(node.getSources().stream().map(this::rewritten).toList()));
  }

  private PlanNode scan(Part part) {
    com.facebook.presto.spi.TableHandle table = part.scan().getTable();
    TableHandle origin = (TableHandle) table.getConnectorHandle();
    Map<VariableReferenceExpression, ColumnHandle> columns = new LinkedHashMap<>();
    for (int i = 0; i < part.variables().size(); i++) {
      Field field = part.operator().schema().get(i);
      columns.put(part.variables().get(i), new JumpgateColumn(i, field.name(), field.type().text()));
    }
    String request = Unsent.of(part.operator(), PRESTO).text();
    TableHandle handle = new TableHandle(origin.schema(), origin.table(), request, coverage().text());
    return new TableScanNode(part.scan().getSourceLocation(), ids.getNextId(),
        new com.facebook.presto.spi.TableHandle(
            table.getConnectorId(), handle, table.getTransaction(), Optional.of(new LayoutHandle(handle))),
        part.variables(), columns, TupleDomain.all(), TupleDomain.all());
  }

  private Coverage coverage() {
    int offloaded = (int) parts.values().stream().filter(Optional::isPresent).count();
    return new Coverage(offloaded, parts.size(), stays);
  }
}

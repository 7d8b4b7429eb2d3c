package io.jumpgate.presto.plan;

import com.facebook.presto.spi.ColumnHandle;
import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.plan.AggregationNode;
import com.facebook.presto.spi.plan.FilterNode;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.ProjectNode;
import com.facebook.presto.spi.plan.TableScanNode;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.VariableReferenceExpression;
import io.jumpgate.dataflow.Expression;
import io.jumpgate.explain.Code;
import io.jumpgate.presto.Catalog;
import io.jumpgate.presto.JumpgateColumn;
import io.jumpgate.presto.TableHandle;
import java.util.List;
import java.util.Map;

/** Operators of a plan as those of a dataflow. */
final class PlanTranslator {
  private final Catalog catalog;
  private final FunctionMetadataManager functions;

  PlanTranslator(Catalog catalog, FunctionMetadataManager functions) {
    this.catalog = catalog;
    this.functions = functions;
  }

  Part scan(TableScanNode node) {
    Map<VariableReferenceExpression, ColumnHandle> columns = node.getAssignments();
    List<Integer> indices =
        node.getOutputVariables().stream().map(v -> ((JumpgateColumn) columns.get(v)).index()).toList();
    TableHandle table = (TableHandle) node.getTable().getConnectorHandle();
    return new Part(catalog.table(table).read(indices), node.getOutputVariables(), node, 1);
  }

  /** The operator above its input, which is offloaded. Raises NotOffloaded. */
  Part translate(PlanNode node, Part input) {
    if (node instanceof FilterNode filter) {
      return filter(filter.getPredicate(), input);
    }
    if (node instanceof ProjectNode project) {
      return project(project, input);
    }
    if (node instanceof AggregationNode aggregation) {
      return Aggregates.translate(functions, input, aggregation);
    }
    throw new NotOffloaded(Code.OPERATOR, "it is not offloaded");
  }

  Part filter(RowExpression predicate, Part input) {
    Expression translated = input.over(functions).translate(predicate);
    return input.then(input.operator().filter(translated), input.variables());
  }

  private Part project(ProjectNode node, Part input) {
    ExpressionTranslator over = input.over(functions);
    List<VariableReferenceExpression> variables = node.getOutputVariables();
    List<Expression> values = variables.stream().map(v -> over.translate(node.getAssignments().get(v))).toList();
    List<String> names = variables.stream().map(VariableReferenceExpression::getName).toList();
    return input.then(input.operator().project(values, names), variables);
  }
}

package io.jumpgate.presto.plan;

import com.facebook.presto.spi.ConnectorPlanOptimizer;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.VariableAllocator;
import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.PlanNodeIdAllocator;
import com.facebook.presto.spi.relation.RowExpressionService;
import io.jumpgate.explain.Coverage;
import io.jumpgate.presto.JumpgateErrorCode;
import io.jumpgate.presto.SessionProperties;

/** Replaces what is above scans of this catalog, as far as it can be computed there, by scans of its result. */
public final class Offload implements ConnectorPlanOptimizer {
  private final FunctionMetadataManager functions;
  private final RowExpressionService expressions;

  public Offload(FunctionMetadataManager functions, RowExpressionService expressions) {
    this.functions = functions;
    this.expressions = expressions;
  }

  @Override
  public PlanNode optimize(
      PlanNode plan, ConnectorSession session, VariableAllocator variables, PlanNodeIdAllocator ids) {
    SessionProperties properties = SessionProperties.of(session);
    if (!properties.offload()) {
      return plan;
    }
    Functions known = new Functions(functions, expressions, session);
    Rewrite rewrite = new Rewrite(new PlanTranslator(known, properties), ids);
    PlanNode rewritten = rewrite.apply(plan);
    Coverage coverage = rewrite.coverage();
    if (properties.strict() && coverage.offloaded() < coverage.operators()) {
      throw JumpgateErrorCode.notOffloaded(coverage);
    }
    return rewritten;
  }
}

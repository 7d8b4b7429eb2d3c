package io.jumpgate.presto.plan;

import com.facebook.presto.spi.ConnectorPlanOptimizer;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.VariableAllocator;
import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.plan.PlanNode;
import com.facebook.presto.spi.plan.PlanNodeIdAllocator;
import io.jumpgate.presto.Catalog;
import io.jumpgate.presto.SessionProperties;

/** Replaces what is above scans of this catalog, as far as it can be computed there, by scans of its result. */
public final class Offload implements ConnectorPlanOptimizer {
  private final Catalog catalog;
  private final FunctionMetadataManager functions;

  public Offload(Catalog catalog, FunctionMetadataManager functions) {
    this.catalog = catalog;
    this.functions = functions;
  }

  @Override
  public PlanNode optimize(
      PlanNode plan, ConnectorSession session, VariableAllocator variables, PlanNodeIdAllocator ids) {
    return new Rewrite(new PlanTranslator(catalog, functions), SessionProperties.of(session), ids).apply(plan);
  }
}

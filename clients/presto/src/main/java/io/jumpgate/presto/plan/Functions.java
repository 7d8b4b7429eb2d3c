package io.jumpgate.presto.plan;

import com.facebook.presto.common.function.OperatorType;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.function.FunctionHandle;
import com.facebook.presto.spi.function.FunctionMetadata;
import com.facebook.presto.spi.function.FunctionMetadataManager;
import com.facebook.presto.spi.relation.RowExpression;
import com.facebook.presto.spi.relation.RowExpressionService;
import java.util.Optional;

/** What Presto says of the functions in a session's plans. */
record Functions(FunctionMetadataManager metadata, RowExpressionService expressions, ConnectorSession session) {
  private static final String BUILT_IN = "presto.default.";

  Optional<OperatorType> operator(FunctionHandle function) {
    return metadata.getFunctionMetadata(function).getOperatorType();
  }

  /** The name of one that Presto brings along, else nothing that anybody knows. */
  String name(FunctionHandle function) {
    FunctionMetadata found = metadata.getFunctionMetadata(function);
    return found.getName().toString().startsWith(BUILT_IN) ? found.getName().getObjectName() : "";
  }

  boolean isDeterministic(FunctionHandle function) {
    return metadata.getFunctionMetadata(function).isDeterministic();
  }

  /** An expression for people. */
  String text(RowExpression e) {
    return expressions.formatRowExpression(session, e);
  }
}

package io.jumpgate.trino;

import io.trino.spi.connector.ConnectorTransactionHandle;

/** Reading needs none. */
public enum Transaction implements ConnectorTransactionHandle { INSTANCE }

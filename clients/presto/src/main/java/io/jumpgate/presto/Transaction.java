package io.jumpgate.presto;

import com.facebook.presto.spi.connector.ConnectorTransactionHandle;

/** Reading needs none. */
public enum Transaction implements ConnectorTransactionHandle { INSTANCE }

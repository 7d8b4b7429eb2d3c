package io.jumpgate.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jumpgate.JumpgateException;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class CatalogSettingTest {
  @Test
  void whatIsUnsaidHasADefaultOrIsMissed() {
    assertEquals("127.0.0.1", CatalogSetting.RECEIVER_HOST.of(Map.of()));
    JumpgateException e = assertThrows(JumpgateException.class, () -> CatalogSetting.SERVICE.of(Map.of()));
    assertEquals("the catalog's properties lack jumpgate.service: the service, as host:port", e.getMessage());
  }

  @Test
  void anUnknownPropertyIsNamed() {
    CatalogSetting.check(Map.of("jumpgate.service", "a:1"));
    JumpgateException e =
        assertThrows(JumpgateException.class, () -> CatalogSetting.check(Map.of("jumpgate.servce", "a:1")));
    assertEquals("a catalog has no property jumpgate.servce; there are jumpgate.service, jumpgate.catalog, "
            + "jumpgate.receiver-host",
        e.getMessage());
  }
}

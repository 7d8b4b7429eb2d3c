package io.jumpgate.sql;

import io.jumpgate.Fault;
import io.jumpgate.JumpgateException;

/** Errors that engines have no name of their own for: they show the name, and count errors by who can mend them. */
public enum EngineError {
  /** The query or its data: a malformed file. */
  DATA(Party.USER),
  RESOURCES(Party.OPERATOR),
  /** The service, or what it runs on, is away or not set up as the catalog says. */
  SERVICE(Party.OTHERS),
  INTERNAL(Party.ENGINE),
  /** A strict session, and something stays with the engine. */
  NOT_OFFLOADED(Party.USER),
  /** The service is newer than the client; the message has the error's name. */
  UNKNOWN(Party.OTHERS);

  /** Who can mend it. */
  public enum Party { USER, OPERATOR, OTHERS, ENGINE }

  private static final int FIRST = 0x4A47_0000;

  private final Party party;

  EngineError(Party party) {
    this.party = party;
  }

  public Party party() {
    return party;
  }

  /** A number that no other error of the engine has. */
  public int number() {
    return FIRST + ordinal();
  }

  /** As engines show it. */
  public String text() {
    return "JUMPGATE_" + name();
  }

  /** The error's own name. Raises IllegalArgumentException where engines have one. */
  public static EngineError of(JumpgateException e) {
    return valueOf(Fault.of(e).name());
  }
}

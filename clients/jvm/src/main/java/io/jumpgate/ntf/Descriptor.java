package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import io.jumpgate.dataflow.Layout;
import io.jumpgate.v1.NetworkTupleFormat;
import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * The network tuple format of one edge: what its bytes are. The canonical text is the agreement; a descriptor is made
 * of it and can travel as it. Raises IllegalArgumentException where parameters contradict each other.
 */
public final class Descriptor implements Serializable {
  private static final int VERSION = 1;
  private static final int FIELDS_MAX = 65_535;
  private static final int ALIGNMENT_MAX = 64;
  private static final long serialVersionUID = 1;

  private final String text;
  private final transient Layout layout;
  private final transient ByteOrder byteOrder;
  private final transient boolean packed;
  private final transient int alignment;
  private final transient List<Field> fields;

  public Descriptor(Layout layout, ByteOrder byteOrder, boolean packed, int alignment, List<Field> fields) {
    this.layout = layout;
    this.byteOrder = byteOrder;
    this.packed = packed;
    this.alignment = alignment;
    this.fields = fields.stream().map(f -> new Field(f.name(), f.type().physical())).toList();
    check();
    this.text = write();
  }

  /** Arrow-compatible buffers. */
  public static Descriptor columnar(List<Field> fields) {
    return new Descriptor(Layout.COLUMNAR, ByteOrder.LITTLE_ENDIAN, false, ALIGNMENT_MAX, fields);
  }

  public Layout layout() {
    return layout;
  }

  /** Of every number in a row tuple. */
  public ByteOrder byteOrder() {
    return byteOrder;
  }

  /** Whether a row tuple's fields follow each other without gaps. */
  public boolean packed() {
    return packed;
  }

  /** Bytes to which a row tuple's fields are aligned at most. */
  public int alignment() {
    return alignment;
  }

  /** The columns; nested ones are binary here. */
  public List<Field> fields() {
    return fields;
  }

  /** The canonical text. */
  public String text() {
    return text;
  }

  /** 32 hex digits: the first half of the text's SHA-256. */
  public String fingerprint() {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  /** The descriptor of a canonical text; raises IllegalArgumentException for any other. */
  public static Descriptor parse(String text) {
    String[] lines = text.split("\n", -1);
    if (lines.length < 6 || !lines[0].equals("jumpgate-ntf " + VERSION)) {
      throw new IllegalArgumentException(
          "not the text of an NTF descriptor of version " + VERSION + ": " + start(text));
    }
    try {
      List<Field> fields = IntStream.range(5, lines.length - 1).mapToObj(i -> field(lines[i])).toList();
      Descriptor descriptor = new Descriptor(Layout.valueOf(value(lines[1]).toUpperCase(Locale.ROOT)),
          value(lines[2]).equals("big") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN, value(lines[3]).equals("yes"),
          Integer.parseInt(value(lines[4])), fields);
      if (descriptor.text.equals(text)) {
        return descriptor;
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("malformed text of an NTF descriptor: " + e.getMessage(), e);
    }
    throw new IllegalArgumentException("the text of an NTF descriptor is not canonical: " + start(text));
  }

  /**
   * The format that a service answered; its text is the agreement. Raises IllegalArgumentException where it
   * contradicts itself.
   */
  public static Descriptor fromProto(NetworkTupleFormat format) {
    Descriptor descriptor = parse(format.getText());
    List<Field> declared = format.getSchema().getFieldsList().stream().map(Field::fromProto).toList();
    if (!descriptor.fingerprint().equals(format.getFingerprint()) || !descriptor.fields.equals(declared)) {
      throw new IllegalArgumentException("the descriptor's fields contradict its text");
    }
    return descriptor;
  }

  /**
   * What differs first from another end's canonical text: {@code field 3: int64 price here, int32 price there}; null
   * if nothing.
   */
  String firstDifference(String theirs) {
    String[] here = text.split("\n");
    String[] there = theirs.split("\n");
    for (int i = 0; i < Math.max(here.length, there.length); i++) {
      String a = i < here.length ? here[i] : null;
      String b = i < there.length ? there[i] : null;
      if (a == null || !a.equals(b)) {
        String[] words = (a != null ? a : b).split(" ", -1);
        String place = words[0].equals("field") && words.length > 1 ? "field " + words[1] : words[0];
        return "%s: %s here, %s there".formatted(place, said(a), said(b));
      }
    }
    return null;
  }

  private void check() {
    if (fields.size() > FIELDS_MAX) {
      throw new IllegalArgumentException(fields.size() + " columns; a tuple has at most " + FIELDS_MAX);
    }
    for (Field field : fields) {
      if (field.type() instanceof DataType.Opaque) {
        throw new IllegalArgumentException("column '" + field.name() + "' is one that nobody reads");
      }
    }
    if (alignment < 1 || alignment > ALIGNMENT_MAX || Integer.bitCount(alignment) != 1) {
      throw new IllegalArgumentException("alignment " + alignment + " is not a power of two up to " + ALIGNMENT_MAX);
    }
    boolean fits = switch (layout) {
      case COLUMNAR -> byteOrder == ByteOrder.LITTLE_ENDIAN && !packed && alignment == ALIGNMENT_MAX;
      case ROW -> packed == (alignment == 1);
    };
    if (!fits) {
      throw new IllegalArgumentException(
          "%s does not go with %s, packed=%s, alignment %d".formatted(layout.text(), byteOrder, packed, alignment));
    }
  }

  private String write() {
    StringBuilder out = new StringBuilder();
    out.append("jumpgate-ntf ").append(VERSION);
    out.append("\nlayout ").append(layout.text());
    out.append("\nbyte_order ").append(byteOrder == ByteOrder.BIG_ENDIAN ? "big" : "little");
    out.append("\npacked ").append(packed ? "yes" : "no");
    out.append("\nalignment ").append(alignment).append('\n');
    for (int i = 0; i < fields.size(); i++) {
      Field field = fields.get(i);
      out.append("field ")
          .append(i)
          .append(' ')
          .append(field.type().text())
          .append(' ')
          .append(quote(field.name()))
          .append('\n');
    }
    return out.toString();
  }

  private static Field field(String line) {
    String[] words = line.split(" ", -1);
    if (words.length != 4) {
      throw new IllegalArgumentException("a field's line has four words: " + start(line));
    }
    return new Field(unquote(words[3]), DataType.parse(words[2]));
  }

  private static String value(String line) {
    return line.substring(line.indexOf(' ') + 1);
  }

  private static String said(String line) {
    if (line == null) {
      return "nothing";
    }
    String rest = value(line);
    return line.startsWith("field ") ? value(rest) : rest;
  }

  private static String start(String text) {
    return "'" + text.substring(0, Math.min(80, text.length())) + "'";
  }

  private static String quote(String name) {
    StringBuilder out = new StringBuilder();
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      char c = (char) (b & 0xff);
      if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || "_.-~".indexOf(c) >= 0) {
        out.append(c);
      } else {
        out.append('%').append(HexFormat.of().withUpperCase().toHexDigits(b));
      }
    }
    return out.toString();
  }

  private static String unquote(String quoted) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < quoted.length(); i++) {
      boolean escaped = quoted.charAt(i) == '%' && i + 2 < quoted.length();
      out.write(escaped ? HexFormat.fromHexDigits(quoted, i + 1, i + 3) : quoted.charAt(i));
      i += escaped ? 2 : 0;
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  private Object readResolve() {
    return parse(text);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Descriptor descriptor && descriptor.text.equals(text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return text;
  }
}

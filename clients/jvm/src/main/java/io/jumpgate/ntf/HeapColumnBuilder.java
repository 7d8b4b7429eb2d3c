package io.jumpgate.ntf;

import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** Collects values of one type, those of nested ones with all their parts. */
final class HeapColumnBuilder {
  private static final int FIRST = 64;

  private final DataType type;
  private final boolean counted; // a list or a map
  private final int width; // of a value without parts; 0 of text
  private final List<HeapColumnBuilder> parts;
  private int count;
  private boolean hasNulls;
  private boolean[] nulls = new boolean[FIRST];
  private byte[] data = {};
  private int used;
  private int[] offsets = new int[FIRST + 1];

  private HeapColumnBuilder(DataType type, List<HeapColumnBuilder> parts) {
    this.type = type;
    this.parts = parts;
    this.counted = type.kind() == DataType.Kind.LIST || type.kind() == DataType.Kind.MAP;
    this.width = type.isText() ? 0 : type.width();
  }

  static HeapColumnBuilder of(DataType type) {
    List<Field> fields = type instanceof DataType.Nested nested ? nested.parts() : List.of();
    return new HeapColumnBuilder(type, fields.stream().map(field -> of(field.type())).toList());
  }

  void addNull() {
    begin();
    nulls[count] = true;
    hasNulls = true;
    if (type.kind() == DataType.Kind.STRUCT) {
      parts.forEach(HeapColumnBuilder::addNull);
    }
    end(width);
  }

  /** A struct, list or map. */
  void add(NestedValue value) {
    begin();
    switch (type.kind()) {
      case STRUCT -> {
        for (int i = 0; i < parts.size(); i++) {
          parts.get(i).add(value, i);
        }
      }
      case LIST -> {
        for (int i = 0; i < value.size(); i++) {
          parts.get(0).add(value, i);
        }
      }
      default -> {
        for (int i = 0; i < value.size(); i++) {
          NestedValue entry = value.nested(i);
          parts.get(0).add(entry, 0);
          parts.get(1).add(entry, 1);
        }
      }
    }
    end(0);
  }

  /** A part of a nested value. */
  private void add(NestedValue of, int part) {
    if (of.isNull(part)) {
      addNull();
    } else if (type instanceof DataType.Nested) {
      add(of.nested(part));
    } else {
      begin();
      ByteBuffer bytes = of.part(part);
      int length = bytes.remaining();
      reserve(length);
      bytes.get(data, used, length);
      end(length);
    }
  }

  private void begin() {
    if (count == nulls.length) {
      nulls = Arrays.copyOf(nulls, 2 * count);
      offsets = Arrays.copyOf(offsets, 2 * count + 1);
    }
    reserve(width);
  }

  private void end(int bytes) {
    used += bytes;
    count++;
    offsets[count] = counted ? parts.get(0).count : used;
  }

  private void reserve(int bytes) {
    if (data.length - used < bytes) {
      data = Arrays.copyOf(data, Math.max(2 * data.length, used + bytes + FIRST));
    }
  }

  HeapColumn build() {
    boolean[] nulls = hasNulls ? Arrays.copyOf(this.nulls, count) : null;
    if (type instanceof DataType.Nested) {
      List<HeapColumn> made = parts.stream().map(HeapColumnBuilder::build).toList();
      return new HeapColumn(type, count, nulls, null, counted ? ends() : null, made);
    }
    return type.isText() ? new HeapColumn(type, count, nulls, Arrays.copyOf(data, used), ends(), List.of())
                         : HeapColumn.of(type, count, nulls, ByteBuffer.wrap(data, 0, used));
  }

  private int[] ends() {
    return Arrays.copyOf(offsets, count + 1);
  }
}

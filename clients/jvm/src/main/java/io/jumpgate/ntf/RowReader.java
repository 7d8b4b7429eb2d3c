package io.jumpgate.ntf;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads row tuples by code that is generated for their layout: every offset, width and byte order is a constant in it.
 * Immutable; one that was made before is handed out again.
 */
public final class RowReader {
  /** Reads some fields of one tuple. */
  interface Fields {
    void read(long tuple, long section, RowConsumer consumer);
  }

  private static final int REMEMBERED_MAX = 64;
  private static final int FIELDS_MAX = 128; // of one method, so that it is compiled whole

  private static final Map<Descriptor, RowReader> REMEMBERED = new LinkedHashMap<>(16, 0.75f, true) {
    @Override
    protected boolean removeEldestEntry(Map.Entry<Descriptor, RowReader> eldest) {
      return size() > REMEMBERED_MAX;
    }
  };

  private final int stride;
  private final Fields[] parts;

  private RowReader(Descriptor descriptor) {
    RowLayout layout = new RowLayout(descriptor);
    stride = layout.stride();
    List<Fields> generated = new ArrayList<>();
    for (int first = 0; first < descriptor.fields().size(); first += FIELDS_MAX) {
      int end = Math.min(first + FIELDS_MAX, descriptor.fields().size());
      generated.add(RowCodegen.generate(layout, first, end));
    }
    parts = generated.toArray(Fields[] ::new);
  }

  /** For frames of that format, whose layout is {@code row}. */
  public static RowReader of(Descriptor descriptor) {
    synchronized (REMEMBERED) {
      return REMEMBERED.computeIfAbsent(descriptor, RowReader::new);
    }
  }

  /** Hands all values of the frame's rows to {@code consumer}. */
  public void read(RowFrame frame, RowConsumer consumer) {
    long tuple = frame.buffer().address();
    long section = tuple + (long) stride * frame.rows();
    for (int row = 0; row < frame.rows(); row++, tuple += stride) {
      for (Fields part : parts) {
        part.read(tuple, section, consumer);
      }
      consumer.endRow();
    }
  }
}

package io.jumpgate.ntf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.jumpgate.dataflow.DataType;
import io.jumpgate.dataflow.Field;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The byte vectors that every implementation reads and writes. */
class GoldenVectorsTest {
  private static final Path FOLDER = Path.of("../../tests/golden/ntf");

  static Stream<Arguments> vectors() throws IOException {
    List<Arguments> found = new ArrayList<>();
    try (Stream<Path> files = Files.list(FOLDER)) {
      for (Path json : files.filter(f -> f.toString().endsWith(".json")).sorted().toList()) {
        JsonObject said = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
        said.getAsJsonObject("layouts").keySet().forEach(
            layout -> found.add(Arguments.of(json.getFileName(), layout, said)));
      }
    }
    return found.stream();
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("vectors")
  void isReadAndWritten(Path name, String layout, JsonObject said) throws IOException {
    JsonObject format = said.getAsJsonObject("layouts").getAsJsonObject(layout);
    Descriptor descriptor = Descriptor.parse(format.get("text").getAsString());
    assertEquals(format.get("fingerprint").getAsString(), descriptor.fingerprint());
    assertEquals(fields(said), descriptor.fields());
    Expected expected =
        new Expected(said.get("job").getAsString(), said.get("edge").getAsString(), said.get("token").getAsString(),
            descriptor, said.get("producer").getAsInt() + 1, said.get("partition").getAsInt());
    byte[] stream = Files.readAllBytes(FOLDER.resolve(name.toString().replace("json", layout + ".bin")));
    List<List<List<Object>>> frames = frames(said, descriptor.fields());

    CountingAccount account = new CountingAccount(Long.MAX_VALUE);
    try (Endpoint endpoint = Endpoint.open(new InetSocketAddress("127.0.0.1", 0), "127.0.0.1", account)) {
      endpoint.expect(expected);
      ByteArrayOutputStream written = new ByteArrayOutputStream();
      List<TestProducer> producers = new ArrayList<>();
      for (int i = 0; i < expected.producers() - 1; i++) { // the vector is of the last one
        TestProducer other = TestProducer.admitted(endpoint, expected, i);
        other.send(other.end());
        producers.add(other);
      }
      TestProducer producer = new TestProducer(endpoint, expected);
      producers.add(producer);
      producer.send(stream);
      written.writeBytes(producer.hello(expected.producers() - 1));
      for (List<List<Object>> rows : frames) {
        try (Frame frame = endpoint.next()) {
          assertEquals(0, frame.buffer().address() % 64);
          assertEquals(rows, FrameValues.of(frame, descriptor));
        }
        written.writeBytes(producer.data(rows));
      }
      written.writeBytes(producer.end());
      assertEquals(null, endpoint.next());
      assertArrayEquals(stream, written.toByteArray());
      for (TestProducer each : producers) {
        each.close();
      }
    }
    assertEquals(0, account.held());
  }

  private static List<Field> fields(JsonObject said) {
    return elements(said.getAsJsonArray("fields"))
        .map(JsonElement::getAsJsonObject)
        .map(f -> new Field(f.get("name").getAsString(), DataType.parse(f.get("type").getAsString().replace(" ", ""))))
        .toList();
  }

  private static List<List<List<Object>>> frames(JsonObject said, List<Field> fields) {
    List<List<List<Object>>> frames = new ArrayList<>();
    for (JsonElement frame : said.getAsJsonArray("frames")) {
      List<List<Object>> rows = new ArrayList<>();
      for (JsonElement row : frame.getAsJsonArray()) {
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < fields.size(); i++) {
          values.add(value(row.getAsJsonArray().get(i), fields.get(i).type().kind()));
        }
        rows.add(values);
      }
      frames.add(rows);
    }
    return frames;
  }

  private static Object value(JsonElement json, DataType.Kind kind) {
    if (json.isJsonNull()) {
      return null;
    }
    return switch (kind) {
      case BOOL -> json.getAsBoolean();
      case FLOAT32 -> (float) number(json.getAsString());
      case FLOAT64 -> number(json.getAsString());
      case DECIMAL -> new BigInteger(json.getAsString());
      case STRING -> json.getAsString();
      case BINARY -> ByteBuffer.wrap(HexFormat.of().parseHex(json.getAsString()));
      default -> Long.valueOf(json.getAsString());
    };
  }

  private static double number(String text) {
    return switch (text) {
      case "inf" -> Double.POSITIVE_INFINITY;
      case "-inf" -> Double.NEGATIVE_INFINITY;
      case "nan" -> Double.NaN;
      default -> Double.parseDouble(text);
    };
  }

  private static Stream<JsonElement> elements(JsonArray array) {
    return StreamSupport.stream(array.spliterator(), false);
  }
}

package io.jumpgate.dataflow;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Calls have the types that the declarations in Python give them: tests/golden/requests/types.json. */
class TypeRuleTest {
  private static final Path CALLS = Path.of("../../tests/golden/requests/types.json");

  @Test
  void callsHaveTheServicesTypes() throws IOException {
    for (JsonElement element : JsonParser.parseString(Files.readString(CALLS)).getAsJsonArray()) {
      JsonObject call = element.getAsJsonObject();
      List<Expression> arguments = new ArrayList<>();
      call.getAsJsonArray("arguments").forEach(argument -> arguments.add(argument(argument.getAsString())));
      String function = call.get("function").getAsString().toUpperCase(Locale.ROOT);
      DataType type = switch (call.get("kind").getAsString()) {
        case "scalar" -> ScalarFunction.valueOf(function).of(arguments.toArray(Expression[] ::new)).type();
        case "measure" -> MeasureFunction.valueOf(function).type(arguments);
        default -> WindowFunction.valueOf(function).type(arguments);
      };
      assertEquals(call.get("type").getAsString(), type.text(), call.toString());
    }
  }

  /** A column of a type, or a literal of int32. */
  private static Expression argument(String text) {
    return Character.isLetter(text.charAt(0)) ? Expression.column(0, new Field("c", DataType.parse(text)))
                                              : Expression.integer(Integer.parseInt(text), DataType.INT32);
  }
}

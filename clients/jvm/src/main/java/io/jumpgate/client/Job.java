package io.jumpgate.client;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.jumpgate.ntf.Descriptor;
import io.jumpgate.ntf.EdgeCertificate;
import io.jumpgate.v1.SubmitResponse;
import java.util.List;

/**
 * A submitted job: what the service answered. {@code edge} is the one to the client; each of its endpoints gets {@code
 * producers} connections, which show {@code token}, a secret. {@code certificate}: encrypts them; null: they are in
 * clear.
 */
public record Job(String id, List<String> instances, int stages, String edge, int producers, Descriptor descriptor,
    String token, EdgeCertificate certificate, String explainJson) {
  static Job of(SubmitResponse response) {
    EdgeCertificate certificate =
        response.getCertificate().isEmpty() ? null : new EdgeCertificate(response.getCertificate(), response.getKey());
    return new Job(response.getJobId(), List.copyOf(response.getInstancesList()), response.getStages(),
        response.getEdge(), response.getProducers(), Descriptor.fromProto(response.getFormat()), response.getToken(),
        certificate, response.getExplainJson());
  }

  /** Names of the accelerators that compute it, in alphabetical order. */
  public List<String> ncas() {
    return explainJson.isEmpty() ? List.of()
                                 : JsonParser.parseString(explainJson)
                                       .getAsJsonObject()
                                       .getAsJsonArray("ncas")
                                       .asList()
                                       .stream()
                                       .map(JsonElement::getAsString)
                                       .toList();
  }

  @Override
  public String toString() {
    return "Job[%s, %d stages, %d producers]".formatted(id, stages, producers);
  }
}

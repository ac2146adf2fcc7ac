package anabranch;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;

/**
 * Tells how long brokers throttled the fetches of a client, by the metric that each of its consumers in this JVM has of it. Every
 * consumer has a reporter of its own. JMX shows only one of the consumers that share a client id.
 */
public final class ThrottleReporter implements MetricsReporter {
  private static final String LONGEST = "fetch-throttle-time-max";
  private static final String CLIENT = "client-id";

  private static final Set REPORTERS = Collections.newSetFromMap(new ConcurrentHashMap());

  private volatile KafkaMetric longest;

  /**
   * The longest throttle time of a fetch, in milliseconds, of all consumers of the client. A consumer's metric goes back about a
   * minute. 0: none was throttled, or this JVM has no such consumer.
   */
  public static double longestMillis(String client) {
    double found = 0;
    for (Object each : REPORTERS) {
      KafkaMetric metric = ((ThrottleReporter) each).longest;
      if (metric != null && client.equals(metric.metricName().tags().get(CLIENT))) {
        double value = ((Number) metric.metricValue()).doubleValue();
        if (value > found) { // not so before the first fetch: the value is not a number then
          found = value;
        }
      }
    }
    return found;
  }

  public void configure(Map settings) {}

  public void init(List metrics) {
    for (Object each : metrics) {
      metricChange((KafkaMetric) each);
    }
  }

  public void metricChange(KafkaMetric metric) {
    if (LONGEST.equals(metric.metricName().name())) {
      longest = metric;
      REPORTERS.add(this);
    }
  }

  public void metricRemoval(KafkaMetric metric) {
    if (metric == longest) {
      close();
    }
  }

  public void close() {
    longest = null;
    REPORTERS.remove(this);
  }
}

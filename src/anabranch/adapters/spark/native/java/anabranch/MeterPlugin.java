package anabranch;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Connects the meters of a cluster: each executor tells the driver what it has read and asks for its share of the limit, which
 * is the limit divided by the executors that have asked lately. With a local master driver and tasks share one meter.
 */
public final class MeterPlugin implements SparkPlugin {
  private static final long ASK_MILLIS = 250;
  private static final long GONE_NANOS = 5000000000L;

  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  public static final class Driver implements DriverPlugin {
    private final ConcurrentHashMap asked = new ConcurrentHashMap();

    /** The executor's id and its counts by client; the answer is its share by client. */
    public Object receive(Object message) {
      Object[] said = (Object[]) message;
      long now = System.nanoTime();
      asked.put(said[0], Long.valueOf(now));
      for (Iterator seen = asked.values().iterator(); seen.hasNext(); ) {
        if (now - ((Long) seen.next()).longValue() > GONE_NANOS) {
          seen.remove();
        }
      }
      HashMap shares = new HashMap();
      for (Object entry : ((Map) said[1]).entrySet()) {
        String client = (String) ((Map.Entry) entry).getKey();
        ReadMeter meter = ReadMeter.of(client);
        meter.report((String) said[0], (Map) ((Map.Entry) entry).getValue());
        shares.put(client, Long.valueOf(meter.rate() == 0 ? 0 : Math.max(1, meter.rate() / asked.size())));
      }
      return shares;
    }
  }

  public static final class Executor implements ExecutorPlugin, Runnable {
    private PluginContext context;
    private volatile boolean stopped;

    public void init(PluginContext given, Map extra) {
      context = given;
      Thread asking = new Thread(this, "anabranch-meter");
      asking.setDaemon(true);
      asking.start();
    }

    public void shutdown() {
      stopped = true;
    }

    public void run() {
      while (!stopped) {
        try {
          Thread.sleep(ASK_MILLIS);
          exchange();
        } catch (InterruptedException end) {
          return;
        } catch (Exception unreachable) {
          // The driver is asked again; until it answers, the share that it gave last holds.
        }
      }
    }

    private void exchange() throws Exception {
      HashMap counts = new HashMap();
      for (Object entry : ReadMeter.all().entrySet()) {
        counts.put(((Map.Entry) entry).getKey(), ((ReadMeter) ((Map.Entry) entry).getValue()).counts());
      }
      Map shares = (Map) context.ask(new Object[] {context.executorID(), counts});
      for (Object entry : shares.entrySet()) {
        ReadMeter.of((String) ((Map.Entry) entry).getKey()).limit(((Long) ((Map.Entry) entry).getValue()).longValue());
      }
    }
  }
}

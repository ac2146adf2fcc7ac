package anabranch;

/** What one task reads of one slice: counted and paid for in chunks, since a lock for each record would cost more than reading it. */
final class ReadTap {
  private static final int MOST_RECORDS = 1000;

  private final ReadMeter meter;
  private final String slice;
  private long records;
  private long bytes;

  ReadTap(String client, String slice) {
    this.meter = ReadMeter.of(client);
    this.slice = slice;
  }

  void passed(long size) {
    records++;
    bytes += size;
    if (bytes >= meter.chunk() || records >= MOST_RECORDS) {
      long count = records;
      long sum = bytes;
      records = 0;
      bytes = 0;
      meter.take(slice, count, sum);
    }
  }

  /** At the end of the task: what is left is paid for by the tasks that come after. */
  void close() {
    meter.count(slice, records);
    meter.owe(bytes);
    records = 0;
    bytes = 0;
  }
}

package anabranch;

import java.time.ZoneId;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of functions that Spark knows by `spark.sql.catalog.<name>`. A function's type has to be known before its
 * arguments are, so what it depends on is in its name: `name.fast_json.<zone>.<schema>`, `name.counted.<counter>`,
 * `name.metered.<client>.<slice>`.
 */
public final class Functions implements FunctionCatalog {
  private String name;

  public void initialize(String given, CaseInsensitiveStringMap options) {
    name = given;
  }

  public String name() {
    return name;
  }

  public Identifier[] listFunctions(String[] namespace) {
    return new Identifier[0];
  }

  public UnboundFunction loadFunction(Identifier asked) {
    if (asked.namespace()[0].equals("counted")) {
      return new CountingPredicate(RecordCounter.known(Long.parseLong(asked.name())));
    }
    if (asked.namespace()[0].equals("metered")) {
      return new Metered(asked.namespace()[1], asked.name());
    }
    StructType schema = (StructType) DataType.fromJson(asked.name());
    ZoneId zone = ZoneId.of(asked.namespace()[1]);
    if (asked.namespace()[0].equals("fast_json")) {
      return new FastJsonDecoder(schema, zone);
    }
    return new FromJson(schema, zone);
  }
}

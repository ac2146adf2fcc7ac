package anabranch;

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Some;
import scala.collection.immutable.HashMap;
import scala.collection.immutable.Map;
import scala.runtime.AbstractFunction0;

/**
 * What `rows.writeTo(table).append()` does, in two steps: planned now, carried out later. Spark itself plans a write when
 * it is asked for, while its tasks have nothing to do.
 */
public final class PlannedAppend {
  private final QueryExecution query;

  public PlannedAppend(Dataset rows, String table, java.util.Map options) throws ParseException {
    SparkSession session = rows.sparkSession();
    UnresolvedRelation into =
        new UnresolvedRelation(
            session.sessionState().sqlParser().parseMultipartIdentifier(table), CaseInsensitiveStringMap.empty(), false);
    Map given = new HashMap();
    for (Object name : options.keySet()) {
      given = (Map) given.updated(name, options.get(name));
    }
    this.query =
        session
            .sessionState()
            .executePlan(AppendData.byName(into, rows.queryExecution().analyzed(), given), CommandExecutionMode.SKIP());
    query.executedPlan();
  }

  public void run() {
    SQLExecution.withNewExecutionId(
        query,
        new Some("append"),
        new AbstractFunction0() {
          public Object apply() {
            return query.executedPlan().executeCollect();
          }
        });
  }
}

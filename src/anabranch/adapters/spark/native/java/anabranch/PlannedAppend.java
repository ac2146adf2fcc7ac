package anabranch;

import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.DoNotCleanup$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import scala.Option;
import scala.Some;
import scala.runtime.AbstractFunction0;

/**
 * A write that is planned now and carried out later. Spark itself plans a write when it is asked for, while its tasks have
 * nothing to do.
 */
public final class PlannedAppend {
  private final QueryExecution query;
  private final UncommittedFiles into;

  PlannedAppend(SparkSession session, LogicalPlan optimized, UncommittedFiles into) {
    this.into = into;
    this.query = new Optimized(session, optimized);
    query.executedPlan();
  }

  /** What Spark will carry out, as text. */
  public String plan() {
    return query.executedPlan().toString();
  }

  /** The files, once they are made. As an array: the end of a Java iterator is an error to Python, which takes its time. */
  public Object[] run() {
    SQLExecution.withNewExecutionId(
        query,
        new Some("append"),
        new AbstractFunction0() {
          public Object apply() {
            return query.executedPlan().executeCollect();
          }
        });
    return into.files().toArray();
  }

  /** Of a plan that needs no optimising any more. */
  private static final class Optimized extends QueryExecution {
    private final LogicalPlan plan;

    Optimized(SparkSession session, LogicalPlan plan) {
      super(session, plan, new QueryPlanningTracker(Option.empty()), CommandExecutionMode.SKIP(), DoNotCleanup$.MODULE$);
      this.plan = plan;
    }

    public LogicalPlan optimizedPlan() {
      return plan;
    }
  }
}

package anabranch;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Some;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A write that is done many times over with other offsets: analysed and optimised once. To Spark every slice would be a new
 * query, and most of what it does for one, and of what Java compiles in a short run, is the same each time.
 */
public final class AppendTemplate {
  private final SparkSession session;
  private final AppendData append;
  private final LogicalPlan query;
  private final Set needed;

  public AppendTemplate(Dataset rows, String table, Map options) throws ParseException {
    this.session = rows.sparkSession();
    UnresolvedRelation into =
        new UnresolvedRelation(
            session.sessionState().sqlParser().parseMultipartIdentifier(table), CaseInsensitiveStringMap.empty(), false);
    scala.collection.immutable.Map given = new scala.collection.immutable.HashMap();
    for (Object name : options.keySet()) {
      given = (scala.collection.immutable.Map) given.updated(name, options.get(name));
    }
    LogicalPlan asked = AppendData.byName(into, rows.queryExecution().analyzed(), given);
    this.append =
        (AppendData) session.sessionState().executePlan(asked, CommandExecutionMode.SKIP()).optimizedPlan();
    this.query = (LogicalPlan) append.query().transformAllExpressions(Periods.quick());
    this.needed = neededBelow(query, ids(query.outputSet()));
  }

  /** Whether its files are written by our own writer, which bounds its open files by itself. */
  public boolean boundsOpenFiles() {
    return sliceWrite().suits();
  }

  /** How many reads there are that can be given other offsets. With any other number than one, slices would be read wrongly. */
  public int sources() {
    return sourcesBelow(query);
  }

  private static int sourcesBelow(LogicalPlan node) {
    int found = isSource(node) ? 1 : 0;
    scala.collection.Iterator children = node.children().iterator();
    while (children.hasNext()) {
      found += sourcesBelow((LogicalPlan) children.next());
    }
    return found;
  }

  /**
   * The write of other offsets: `source` has the options of the read that name them, and `counters` the accumulators that
   * count in place of the template's own, by the ids of those. What is read passes the client's meter as records of the slice.
   */
  public PlannedAppend planned(Map source, Map counters, String client, String slice) {
    LogicalPlan read = (LogicalPlan) query.transformDown(reading(source, client, slice));
    LogicalPlan counted = (LogicalPlan) read.transformAllExpressions(counting(counters));
    UncommittedFiles into = into();
    LogicalPlan write =
        new AppendData(
            append.table(),
            counted,
            append.writeOptions(),
            append.isByName(),
            new Some(into.write()),
            append.analyzedQuery());
    return new PlannedAppend(session, write, into);
  }

  private UncommittedFiles into() {
    SliceWrite ours = sliceWrite();
    return ours.suits() ? (UncommittedFiles) ours : new IcebergRewriteWrite(table(), options(), query.schema());
  }

  private SliceWrite sliceWrite() {
    return new SliceWrite(session, table().table(), options(), query.schema());
  }

  private SparkTable table() {
    return (SparkTable) ((DataSourceV2Relation) append.table()).table();
  }

  private Map options() {
    Map options = new HashMap();
    scala.collection.Iterator given = append.writeOptions().iterator();
    while (given.hasNext()) {
      scala.Tuple2 option = (scala.Tuple2) given.next();
      options.put(option._1(), option._2());
    }
    return options;
  }

  private AbstractPartialFunction reading(final Map source, final String client, final String slice) {
    return new AbstractPartialFunction() {
      public boolean isDefinedAt(Object node) {
        return isSource(node);
      }

      public Object applyOrElse(Object node, Function1 otherwise) {
        return isSource(node) ? read((DataSourceV2ScanRelation) node, source, client, slice) : otherwise.apply(node);
      }
    };
  }

  /** With the columns that somebody asks for, as long as records have nothing but those. */
  private Object read(DataSourceV2ScanRelation found, Map source, String client, String slice) {
    Map options = new HashMap(found.relation().options().asCaseSensitiveMap());
    options.putAll(source);
    Scan scan =
        ((SupportsRead) found.relation().table()).newScanBuilder(new CaseInsensitiveStringMap(options)).build();
    Seq output = (Seq) found.output().filter(needed());
    StructType columns = DataTypeUtils.fromAttributes(output);
    boolean ours = true;
    for (int i = 0; i < columns.length(); i++) {
      ours = ours && SliceReader.makes(columns.fieldNames()[i]);
    }
    return new DataSourceV2ScanRelation(
        found.relation(),
        new SliceScan(scan, ours ? columns : scan.readSchema(), ours, client, slice),
        ours ? output : found.output(),
        found.keyGroupedPartitioning(),
        found.ordering());
  }

  private static AbstractPartialFunction counting(final Map counters) {
    return new AbstractPartialFunction() {
      public boolean isDefinedAt(Object expression) {
        return isCounted(expression);
      }

      public Object applyOrElse(Object expression, Function1 otherwise) {
        if (!isCounted(expression)) {
          return otherwise.apply(expression);
        }
        Literal counted = (Literal) expression;
        Object counter = counters.get(String.valueOf(((CountingPredicate) counted.value()).counter().id()));
        return new Literal(new CountingPredicate((RecordCounter) counter), counted.dataType());
      }
    };
  }

  private AbstractFunction1 needed() {
    return new AbstractFunction1() {
      public Object apply(Object attribute) {
        return Boolean.valueOf(needed.contains(idOf(attribute)));
      }
    };
  }

  /** The read of the slice, and not one of a table that the transform looks something up in: only it names offsets. */
  private static boolean isSource(Object node) {
    return node instanceof DataSourceV2ScanRelation
        && ((DataSourceV2ScanRelation) node).relation().options().containsKey("endingOffsets");
  }

  private static boolean isCounted(Object expression) {
    return expression instanceof Literal && ((Literal) expression).value() instanceof CountingPredicate;
  }

  /** What anything above the read of the slice asks for, or lets through to whoever does; null if it is not below. */
  private static Set neededBelow(LogicalPlan node, Set above) {
    if (isSource(node)) {
      return above;
    }
    Set here = ids(node.references());
    here.addAll(above);
    scala.collection.Iterator children = node.children().iterator();
    while (children.hasNext()) {
      Set found = neededBelow((LogicalPlan) children.next(), here);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private static Set ids(AttributeSet attributes) {
    Set found = new HashSet();
    scala.collection.Iterator each = attributes.iterator();
    while (each.hasNext()) {
      found.add(idOf(each.next()));
    }
    return found;
  }

  private static Object idOf(Object attribute) {
    return ((Attribute) attribute).exprId();
  }
}

package anabranch;

import java.lang.reflect.Field;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.formats.BaseFormatModel;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.parquet.ParquetFormatModel;
import org.apache.iceberg.parquet.ParquetValueWriter;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnDescriptor;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnWriteStore;
import org.apache.iceberg.shaded.org.apache.parquet.column.ColumnWriter;
import org.apache.iceberg.shaded.org.apache.parquet.io.api.Binary;
import org.apache.iceberg.shaded.org.apache.parquet.schema.MessageType;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * Writes Spark's unsafe rows to Parquet, to the byte as Iceberg does. Values of the usual types go from the row's bytes straight
 * to Parquet, where Iceberg makes an object of each; all other types are written by Iceberg's own value writers.
 */
final class UnsafeRowParquetWriter implements ParquetValueWriter {
  /** The kind of rows under which Iceberg finds this way to write them. */
  static final Class KIND = UnsafeRow.class;

  private static final int THEIRS = 0;
  private static final int TEXT = 1;
  private static final int LONG = 2;
  private static final int INT = 3;
  private static final int LONG_AS_INT = 4;
  private static final Field WRITERS =
      PrivateFields.field("org.apache.iceberg.parquet.ParquetValueWriters$StructWriter", "writers");

  static {
    FormatModelRegistry.register(
        ParquetFormatModel.create(
            KIND,
            StructType.class,
            new BaseFormatModel.WriterFunction() {
              public Object write(Schema schema, Object file, Object rows) {
                return new UnsafeRowParquetWriter(schema, (MessageType) file, (StructType) rows);
              }
            },
            null));
  }

  private final ParquetValueWriter theirs;
  private final ParquetValueWriter[] writers;
  private final List columns;
  private final DataType[] types;
  private final int[] kinds;
  /** Of the columns that are ours: what Parquet knows them by, how deep a value lies, and whom to give it to. */
  private final ColumnDescriptor[] places;
  private final int[] levels;
  private final ColumnWriter[] into;

  private UnsafeRowParquetWriter(Schema schema, MessageType file, StructType rows) {
    this.theirs = SparkParquetWriters.buildWriter(schema, file, rows);
    this.writers = writersOf(theirs);
    this.columns = file.getColumns();
    int count = rows.length();
    if (writers.length != count) {
      throw new IllegalStateException(count + " columns, and Iceberg writes " + writers.length);
    }
    this.types = new DataType[count];
    this.kinds = new int[count];
    this.places = new ColumnDescriptor[count];
    this.levels = new int[count];
    this.into = new ColumnWriter[count];
    for (int i = 0; i < count; i++) {
      types[i] = rows.fields()[i].dataType();
      kinds[i] = kindOf(((Types.NestedField) schema.columns().get(i)).type(), types[i]);
      if (kinds[i] != THEIRS) {
        places[i] = file.getColumnDescription(new String[] {file.getFieldName(i)});
        levels[i] = places[i].getMaxDefinitionLevel();
      }
    }
  }

  private static ParquetValueWriter[] writersOf(ParquetValueWriter struct) {
    try {
      return (ParquetValueWriter[]) WRITERS.get(struct);
    } catch (IllegalAccessException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** How the value stands in a row's bytes, if Parquet has it in the same way. */
  private static int kindOf(Type column, DataType row) {
    if (column instanceof Types.DecimalType && row instanceof DecimalType) {
      return decimalOf((Types.DecimalType) column, (DecimalType) row);
    }
    String both = column.typeId() + " " + row.typeName();
    if (both.equals("STRING string")) {
      return TEXT;
    }
    if (both.equals("LONG long") || both.equals("TIMESTAMP timestamp") || both.equals("TIMESTAMP timestamp_ntz")) {
      return LONG;
    }
    return both.equals("INTEGER integer") || both.equals("DATE date") ? INT : THEIRS;
  }

  /** A row has it without its point, in eight bytes if it is not too long for them; Parquet in four if it can. */
  private static int decimalOf(Types.DecimalType column, DecimalType row) {
    if (column.precision() != row.precision() || column.scale() != row.scale() || row.precision() > 18) {
      return THEIRS;
    }
    return row.precision() <= 9 ? LONG_AS_INT : LONG;
  }

  public void write(int repetition, Object record) {
    if (!(record instanceof UnsafeRow)) {
      theirs.write(repetition, record);
      return;
    }
    UnsafeRow row = (UnsafeRow) record;
    for (int i = 0; i < kinds.length; i++) {
      if (kinds[i] == THEIRS) {
        writers[i].write(repetition, row.get(i, types[i]));
      } else if (row.isNullAt(i)) {
        writeNull(repetition, i);
      } else {
        write(repetition, row, i);
      }
    }
  }

  private void writeNull(int repetition, int i) {
    if (levels[i] == 0) {
      throw new IllegalStateException("no value for " + String.join(".", places[i].getPath()) + ", which must have one");
    }
    into[i].writeNull(repetition, levels[i] - 1);
  }

  private void write(int repetition, UnsafeRow row, int i) {
    switch (kinds[i]) {
      case TEXT:
        into[i].write(Binary.fromReusedByteArray(row.getBinary(i)), repetition, levels[i]);
        break;
      case LONG:
        into[i].write(row.getLong(i), repetition, levels[i]);
        break;
      case LONG_AS_INT:
        into[i].write((int) row.getLong(i), repetition, levels[i]);
        break;
      default:
        into[i].write(row.getInt(i), repetition, levels[i]);
    }
  }

  public List columns() {
    return theirs.columns();
  }

  public Stream metrics() {
    return theirs.metrics();
  }

  /** Asked for each group of rows, before there is anything in it. */
  public void setColumnStore(ColumnWriteStore store) {
    theirs.setColumnStore(store);
    for (Object column : columns) {
      Dictionaries.replace(store.getColumnWriter((ColumnDescriptor) column));
    }
    for (int i = 0; i < places.length; i++) {
      into[i] = places[i] == null ? null : store.getColumnWriter(places[i]);
    }
  }
}

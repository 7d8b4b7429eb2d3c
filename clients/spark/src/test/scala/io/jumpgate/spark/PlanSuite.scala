package io.jumpgate.spark

import io.jumpgate.dataflow.{Dialect, Operator}
import io.jumpgate.spark.exec.JumpgateExec
import io.jumpgate.spark.plan.{Dialects, PlanTranslator, Summary}
import java.nio.file.{Files, Path}
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.jumpgate.Shims.{Dataset, SparkSession}
import org.apache.spark.sql.types.{IntegerType, StructType}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** What plans of Spark's become; no service runs. */
class PlanSuite extends AnyFunSuite with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = {
    spark = org.apache.spark.sql.SparkSession
      .builder()
      .master("local[1]")
      .config("spark.plugins", classOf[JumpgatePlugin].getName)
      .config("spark.jumpgate.offload", "always")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.warehouse.dir", Files.createTempDirectory("warehouse").toString)
      .getOrCreate()
      .asInstanceOf[SparkSession]
    val folder = Files.createTempDirectory("tables")
    spark
      .sql(
        """select cast(id as int) i, id l, cast(id as double) d, cast(id as decimal(7, 2)) m, cast(id as string) s,
          |date_add(date'2024-01-01', cast(id as int)) t, array(id) a from range(10)""".stripMargin)
      .write
      .parquet(s"$folder/t")
    spark.read.parquet(s"$folder/t").createOrReplaceTempView("t")
    spark.range(3).selectExpr("id % 2 p", "id v").write.partitionBy("p").parquet(s"$folder/parts")
    spark.read.parquet(s"$folder/parts").createOrReplaceTempView("parts")
  }

  override def afterAll(): Unit = spark.stop()

  private def query(sql: String): Dataset[Row] = spark.sql(sql).asInstanceOf[Dataset[Row]]

  /** The dataflow of a whole query. */
  private def offloaded(sql: String): Operator =
    new PlanTranslator(spark)(query(sql).queryExecution.optimizedPlan).fold(
      refusal => fail(s"${refusal.node.nodeName}: ${refusal.reason}"),
      identity)

  private def kinds(operator: Operator): Seq[String] = operator.kind +: operator.inputs.asScala.toSeq.flatMap(kinds)

  /** Types of the result. */
  private def types(sql: String): Seq[String] = offloaded(sql).schema.asScala.map(_.`type`.name).toSeq

  /** Why no operator, or not all, is offloaded. */
  private def codes(sql: String): Seq[String] =
    JumpgateExplain.coverage(query(sql).queryExecution.executedPlan).stays.asScala.map(_.reason.code.text).toSeq

  test("a part of a plan is translated once, and stays so for a query of the same plan") {
    val plan = query("select v + 1 from parts where v > 1").queryExecution.optimizedPlan
    def translated(plan: LogicalPlan) = new PlanTranslator(spark)(plan).fold(refusal => fail(refusal.reason.toString), identity)
    val whole = translated(plan)
    assert(translated(plan) eq whole)
    assert(translated(plan.children.head) eq whole.inputs.get(0))
    assert(translated(plan.clone()) ne whole)
  }

  test("a format that extends one of Spark's has rows that are not those of its files") {
    val relation = query("select v from parts").queryExecution.optimizedPlan.collectFirst { case r: LogicalRelation => r }.get
    val files = relation.relation.asInstanceOf[HadoopFsRelation]
    assert(new PlanTranslator(spark)(relation).isRight)
    val refusal = new PlanTranslator(spark)(relation.copy(relation = files.copy(fileFormat = new Extended)(spark))).left.toOption.get
    assert(refusal.reason.code.text == "format")
    assert(refusal.reason.sentence.contains("Extended"))
  }

  test("a table of a Hive format that is not read is refused by the name of its rows' class") {
    val storage = CatalogStorageFormat.empty.copy(serde = Some("RCFileRows"))
    val table = CatalogTable(TableIdentifier("h", Some("default")), CatalogTableType.MANAGED, storage, new StructType().add("a", "int"))
    val refusal = new PlanTranslator(spark)(HiveTableRelation(table, Seq(AttributeReference("a", IntegerType)()), Nil)).left.toOption.get
    assert(refusal.reason.toString == "[format] rows of RCFileRows are Spark's to read")
  }

  test("a query is one node with a summary") {
    val plan = query("select s, sum(m) from t where i > 3 group by s order by s limit 5").queryExecution.executedPlan
    assert(plan.collect { case node: JumpgateExec => node }.size == 1)
    assert(plan.toString.contains("limit, sort, aggregate"))
    assert(JumpgateExplain.coverage(plan).summary == "6 of 6 operators (100 %)")
  }

  test("operators keep their order") {
    assert(kinds(offloaded("select s, sum(m) from t where i > 3 group by s order by s limit 5")) ==
      Seq("sort", "project", "aggregate", "project", "filter", "read"))
  }

  test("results have Spark's types") {
    assert(types("select count(*), sum(i), sum(m), avg(m), avg(i), min(t), max(s) from t") ==
      Seq("int64", "int64", "decimal(17,2)", "decimal(11,6)", "float64", "date", "string"))
    assert(types("select i + i, l * l, m + m, m * m, m / m, i / i, i div 2, i % 3, year(t) from t") ==
      Seq("int32", "int64", "decimal(8,2)", "decimal(15,4)", "decimal(17,10)", "float64", "int64", "int32", "int32"))
  }

  test("every type of join") {
    val expected = Map(
      "join" -> "inner", "left join" -> "left", "full join" -> "full", "left semi join" -> "semi", "left anti join" -> "anti")
    expected.foreach { case (sql, name) =>
      val request = offloaded(s"select a.i from t a $sql t b on a.i = b.i and a.d < b.d").request(Dialect.DEFAULT)
      val joins = request.getOperatorsList.asScala.filter(_.hasJoin).map(_.getJoin.getType)
      assert(joins.toSeq == Seq(name), sql)
    }
  }

  test("not in and exists within a condition are marks") {
    assert(offloaded("select i from t where i not in (select i from t where i > 2)").toString.contains("\"mark\""))
    val exists = "select i from t where i > 5 or l in (select l from t)"
    assert(offloaded(exists).toString.contains("\"mark\""))
    assert(query(exists).queryExecution.executedPlan.toString.contains("existence join"))
  }

  test("grouping sets, windows and unions") {
    assert(kinds(offloaded("select i, s, sum(l) from t group by rollup(i, s)")).contains("union_all"))
    assert(kinds(offloaded("select i, rank() over (partition by s order by l) r, sum(m) over (partition by s) from t")).contains("window"))
    assert(kinds(offloaded("select i from t union select i from t")).take(3).contains("aggregate"))
  }

  test("a subquery's result will be a literal") {
    val node = query("select i from t where l > (select avg(l) from t)").queryExecution.sparkPlan
      .collectFirst { case node: JumpgateExec => node }
    assert(node.exists(_.inner.size == 1))
  }

  test("partition columns come from folders") {
    val read = offloaded("select sum(v) from parts where p = 1").request(Dialect.DEFAULT).getOperatorsList.asScala.head.getRead
    assert(read.getOptionsMap.asScala == Map("partitions" -> "p", "early_days" -> "fail", "absent" -> "null"))
  }

  test("reasons for what stays") {
    assert(codes("select count(*) from t group by a") == Seq("type"))
    assert(codes("select rand() from t") == Seq("nondeterministic"))
    assert(codes("select round(d, 1) from t") == Seq("expression"))
    assert(codes("select cast(d as string) from t") == Seq("cast"))
    assert(codes("select sum(d) over (order by i rows between 2 preceding and current row) from t") == Seq("window"))
    assert(codes("select percentile_approx(l, 0.5) from t") == Seq("aggregate"))
  }

  test("nested values are passed on and taken apart") {
    assert(types("select a, i from t") == Seq("list<int64>", "int32"))
    assert(kinds(offloaded("select i, e from t lateral view explode(a) v as e")).take(2) == Seq("project", "unnest"))
  }

  test("moments are seen by clocks of the session's zone") {
    def tables(zone: String) = {
      spark.conf.set("spark.sql.session.timeZone", zone)
      val request = offloaded("select hour(timestamp_seconds(l)) from t").request(Dialect.DEFAULT)
      request.getExpressionsList.asScala.filter(_.getLiteral.hasText).map(_.getLiteral.getText)
    }
    try {
      assert(tables("UTC").isEmpty)
      assert(tables("+05:30") == Seq("19800"))
      assert(tables("Europe/Berlin").head.startsWith("3208,-2422054408,3600,"))
    } finally spark.conf.unset("spark.sql.session.timeZone")
  }

  test("what stays takes only the columns that it needs") {
    val node = query("select rand() + i from t where l > 3").queryExecution.sparkPlan
      .collectFirst { case node: JumpgateExec => node }
    assert(node.exists(_.output.map(_.name) == Seq("i")))
  }

  test("of a union with a part that stays, the other part is grouped") {
    def nodes(sql: String) = query(sql).queryExecution.sparkPlan.collect { case node: JumpgateExec => Summary.of(node.logical) }
    def union(other: String) = s"from (select i, m, d from t union all select i, m, d from $other)"
    assert(nodes(s"select i, sum(m), avg(d), count(*) ${union("(select *, rand() r from t) where r > 0.5")} group by i")
      .exists(_.startsWith("aggregate, ")))
    // what cannot be added up takes the rows, and what is offloaded whole is not split
    assert(nodes(s"select i, stddev(d) ${union("(select *, rand() r from t) where r > 0.5")} group by i")
      .forall(!_.contains("aggregate")))
    assert(nodes(s"select i, sum(m) ${union("t")} group by i").map(_.split("aggregate").length) == Seq(2))
  }

  test("a division by zero is what Spark makes of it") {
    val sql = "select i / i from t"
    def dialect = Dialects.of(query(sql).queryExecution.optimizedPlan).divisionByZero
    try Seq("true" -> Dialect.DivisionByZero.ERROR, "false" -> Dialect.DivisionByZero.NULL).foreach { case (ansi, expected) =>
      spark.conf.set("spark.sql.ansi.enabled", ansi)
      assert(dialect == expected)
    }
    finally spark.conf.unset("spark.sql.ansi.enabled")
  }

  test("never offloads nothing, and a wrong setting is refused") {
    spark.conf.set("spark.jumpgate.offload", "never")
    try assert(query("select i from t").queryExecution.executedPlan.collect { case n: JumpgateExec => n }.isEmpty)
    finally spark.conf.set("spark.jumpgate.offload", "always")
    spark.conf.set("spark.jumpgate.offload", "sometimes")
    val error = intercept[IllegalArgumentException](query("select i from t").queryExecution.executedPlan)
    spark.conf.set("spark.jumpgate.offload", "always")
    assert(error.getMessage == "spark.jumpgate.offload is 'sometimes'; it can be `auto`, `always`, `never`")
  }

  test("docs/spark.md has all settings") {
    val page = Files.readString(Path.of("../../docs/spark.md"))
    assert(page.contains(Settings.table), Settings.table)
  }
}

/** As formats of lakes do. */
private final class Extended extends ParquetFileFormat

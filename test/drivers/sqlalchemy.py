import pandas
from sqlalchemy import Boolean, Column, Integer, create_engine, func, select, text
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.types import UserDefinedType

class Filter(UserDefinedType):
    """A column of type bf, tbf, sbf, abf or ibf. Its value in Python is a text."""
    cache_ok = True
    def __init__(self, name): self.name = name
    def get_col_spec(self, **options): return self.name
    class comparator_factory(UserDefinedType.Comparator):
        def has(self, item): return self.expr.op("@>", return_type=Boolean())(item)

Base = declarative_base()

class MonthFilter(Base):
    __tablename__ = "month_filter"
    id = Column(Integer, primary_key=True)
    hosts, uids, hits = Column(Filter("bf")), Column(Filter("bf")), Column(Filter("tbf"))

with Session(create_engine("postgresql://")) as db:
    a, b = db.execute(select(MonthFilter.hosts.has("192.0.2.7"), MonthFilter.hosts.has("192.0.2.200"))).one()
    print(f"192.0.2.7: {a}, 192.0.2.200: {b}")
    print("one of 5000 and 7:", db.scalar(select(func.bf_contains_any(MonthFilter.uids, [5000, 7]))))
    hits = pandas.read_sql("SELECT url, tbf_count(hits, url) AS hits FROM (SELECT DISTINCT url FROM visit) v, month_filter", db.connection(), index_col="url").hits
    print(f"/page/1: {hits['/page/1']:.0f} hits")
    print("like %page/3%:", db.scalar(text("SELECT count(*) FROM visit WHERE url LIKE :pattern"), {"pattern": "%page/3%"}), "visits")
    frame = pandas.read_sql(text("SELECT * FROM chunk_scan(NULL::visit, 'host', :host)"), db.connection(), params={"host": "192.0.2.7"})
    print(f"192.0.2.7: {len(frame)} visits")
    one = db.get(MonthFilter, 1)
    db.add(MonthFilter(id=2, hosts=one.hosts, uids=one.uids, hits=one.hits))
    db.flush()
    print("and back again:", db.scalar(select(func.count(MonthFilter.hosts.distinct()))) == 1)

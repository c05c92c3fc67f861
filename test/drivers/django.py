import os
import django
from django.conf import settings

settings.configure(USE_TZ=True, DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
    "USER": os.environ.get("PGUSER", ""), "HOST": os.environ.get("PGHOST", ""), "PORT": os.environ.get("PGPORT", "")}})
django.setup()
from django.db import connection, models
from django.db.models import FloatField, Func, Lookup, Value

class Filter(models.Field):
    """A column of type bf, tbf, sbf, abf or ibf. Its value in Python is a text."""
    def __init__(self, name="bf", **options):
        self.name_of_type = name
        super().__init__(**options)
    def db_type(self, connection): return self.name_of_type
    def deconstruct(self):
        name, path, arguments, options = super().deconstruct()
        return name, path, [self.name_of_type, *arguments], options

@Filter.register_lookup
class Has(Lookup):
    lookup_name = "has"
    prepare_rhs = False
    def as_sql(self, compiler, connection):
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} @> %s", [*parameters, self.rhs]

class Visit(models.Model):
    at = models.DateTimeField(primary_key=True)    # Django wants a key; the table needs none
    url = models.TextField()
    class Meta: app_label, db_table, managed = "log", "visit", False

class MonthFilter(models.Model):
    id = models.IntegerField(primary_key=True)
    hosts, uids, hits = Filter("bf"), Filter("bf"), Filter("tbf")
    class Meta: app_label, db_table, managed = "log", "month_filter", False

there = [MonthFilter.objects.filter(hosts__has=host).exists() for host in ("192.0.2.7", "192.0.2.200")]
print("192.0.2.7: %s, 192.0.2.200: %s" % tuple(there))
with connection.cursor() as cursor:
    cursor.execute("SELECT bf_contains_any(uids, %s) FROM month_filter", [[5000, 7]])
    print("one of 5000 and 7:", cursor.fetchone()[0])
one = MonthFilter.objects.annotate(n=Func("hits", Value("/page/1"), function="tbf_count", output_field=FloatField())).get()
print(f"/page/1: {one.n:.0f} hits")
print(f"like %page/3%: {Visit.objects.filter(url__contains='page/3').count()} visits")
print("192.0.2.7:", len(list(Visit.objects.raw("SELECT at, url FROM chunk_scan(NULL::visit, 'host', %s)", ["192.0.2.7"]))), "visits")
MonthFilter.objects.create(id=2, hosts=one.hosts, uids=one.uids, hits=one.hits)
print("and back again:", MonthFilter.objects.filter(id=2, hosts=one.hosts, hits=one.hits).exists())
